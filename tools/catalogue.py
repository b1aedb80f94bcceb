"""Every study of this repository by name, with the question that it answers."""

from caps.bench.studies.study import Study

SERIES = "TSB-AD-U.zip"
PUBLISHED = "--published, a results folder of `caps bench run` as --out"

OURS: dict[str, Study] = {
    # Quality of what a user gets, on simulated or labelled series.
    "false-alarms": Study(
        "Do alarms keep their budget on kinds of normal series that the simulator does not make?",
        "",
        "tools.quality.false_alarms:false_alarms",
    ),
    "extents": Study(
        "How well are events that are given too wide cut to their rows?",
        "",
        "tools.quality.extents:extents",
    ),
    "kinds": Study(
        "How often is the kind of an event right?",
        "",
        "tools.quality.kinds:kinds",
    ),
    "objective": Study(
        "What does the representation lose without the recombination loss, at one budget?",
        "",
        "tools.quality.objective:objective",
    ),
    "aggregation": Study(
        "Max or Top5-mean over channels, with the whole of CAPS and beside the best published?",
        "TSB-AD-M.zip, --published",
        "tools.quality.aggregation:aggregation",
    ),
    # Beside TSB-AD's published figures.
    "development": Study(
        "How do all methods of a bench run compare with each other and with published ones?",
        PUBLISHED,
        "tools.published.development:development",
    ),
    "light-methods": Study(
        "Do our light methods reach TSB-AD's published VUS-PR, series by series?",
        "TSB-AD zip, --published, --manifest",
        "tools.published.light_methods:light_methods",
    ),
    "deep-peers": Study(
        "Do the deep peers reach TSB-AD's published VUS-PR, dataset by dataset?",
        f"{PUBLISHED}, --manifest",
        "tools.published.deep_peers:deep_peers",
    ),
    "peer-cost": Study(
        "What does every deep peer cost on a short series?",
        "`make peers`",
        "tools.published.peer_cost:peer_cost",
    ),
    "rivals": Study(
        "What does another method see where it beats the memory?",
        SERIES,
        "tools.published.rivals:rivals",
    ),
    # Deployment at work.
    "export": Study(
        "Does an exported model score as the one it came from, and what does it save?",
        SERIES,
        "tools.deployment.export:export",
    ),
    "stream": Study(
        "Does a killed `caps watch` find the batch's events; what do a row and drift cost?",
        "",
        "tools.deployment.stream:stream",
    ),
    "fleet-cluster": Study(
        "Does a fleet on Ray, a node of which is killed, give the models of the local engine?",
        "ray",
        "tools.deployment.fleet_cluster:fleet_cluster",
    ),
    "fleet-generation": Study(
        "What does generation cost of a fit, and would batches across series save any?",
        "",
        "tools.deployment.fleet_generation:fleet_generation",
    ),
    "fleet-shared": Study(
        "Could one detector serve many similar series?",
        "",
        "tools.deployment.fleet_shared:fleet_shared",
    ),
    "serve-pictures": Study(
        "What does the page of the service look like?",
        "chromium",
        "tools.deployment.serve_pictures:serve_pictures",
    ),
    # Attacks and load.
    "serve-load": Study(
        "Does the service answer fifty clients in time while a fit runs?",
        "",
        "tools.deployment.serve_load:serve_load",
    ),
    "slowloris": Study(
        "Does the service answer others while hundreds of clients never finish a request?",
        "",
        "tools.deployment.slowloris:slowloris",
    ),
    "fuzz-out": Study(
        "Does any command harm what it did not write, whatever its --out points at?",
        "root, for device nodes",
        "tools.deployment.fuzz_out:fuzz_out",
    ),
    "fuzz-watch": Study(
        "Does `caps watch` account for every line of mutated inputs, without a traceback?",
        "",
        "tools.deployment.fuzz_watch:fuzz_watch",
    ),
    # Speed.
    "speed-detect": Study(
        "What do `caps detect` and scoring take, up to a million rows?",
        "",
        "tools.speed.detect:detect",
    ),
    "speed-generation": Study(
        "How long does an expert take for a counterpart?",
        "",
        "tools.speed.generation:generation",
    ),
    "speed-metrics": Study(
        "How much faster are the metrics than TSB-AD's?",
        "`make parity`",
        "tools.speed.metrics:metrics",
    ),
    # Form: what must not differ.
    "golden": Study(
        "Does a change of form leave scores, events and explanations as they were?",
        "",
        "tools.golden:golden",
    ),
    "parity-metrics": Study(
        "Are the metrics those of TSB-AD and of their definitions?",
        "",
        "tools.parity.compare:compare",
    ),
    "parity-adapter": Study(
        "Does CAPS run inside TSB-AD's detector interface?",
        "`make parity`",
        "tools.parity.adapter:adapter",
    ),
}
