"""Every study of this repository by name, with the question that it answers."""

from caps.bench.studies.study import Study

# Folder -> name -> question; a study `some-name` is the function `some_name` of its own module.
QUESTIONS = {
    "quality": {
        "false-alarms": "Do alarms keep their budget on kinds of series that nobody simulated?",
        "anomalous-training": "What is found where the training part has anomalies in it?",
        "kinds": "How often is the kind of an event right?",
        "bands": "Does the range of normal rows hold the share that it states?",
        "several-channels": "How good are scores and attribution on series of several channels?",
    },
    "published": {
        "evaluation": "How far ahead is CAPS on TSB-AD's evaluation lists?",
    },
    "deployment": {
        "export": "Does an exported model score as the one it came from, and what does it save?",
        "stream": "Does a killed `caps watch` find the batch's events? What does a row cost?",
        "sizing": "How many live series does a core carry, and what memory does each take?",
        "watch-load": "What do a thousand live series take of a core, and of memory?",
        "fleet-cluster": "Does Ray with a node killed give the models of the local engine?",
        "serve-pictures": "What does the page of the service look like?",
    },
    "attacks": {
        "serve-load": "Does the service answer under attack, and fifty clients while a fit runs?",
        "mutants": "Does some test notice each mistake made by hand in the code that scores?",
    },
    "speed": {
        "speed-detect": "What do `caps detect` and scoring take, up to a million rows?",
        "speed-metrics": "How much faster are the metrics than TSB-AD's?",
    },
    "parity": {
        "golden": "Does a change of form leave scores, events and explanations as they were?",
        "parity-metrics": "Are the metrics those of TSB-AD and of their definitions?",
        "parity-adapter": "Does CAPS run inside TSB-AD's detector interface?",
    },
}
OURS = {
    name: Study(name, question, f"tools.{folder}.{name.replace('-', '_')}")
    for folder, questions in QUESTIONS.items()
    for name, question in questions.items()
}
