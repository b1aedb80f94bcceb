// What one channel's training rows say of its next row, by the rows before it alone.

import { blockError, FORMS, indicesOf } from "./index.mjs";
import { fmax, fmin, normalQuantile, softMaximum } from "./numbers.mjs";

const GOLDEN = 0.6180339887498949;
const QUARTILE = 0.6745; // upper one of a normal distribution, in std

/** A memory and what it has seen of the stream so far. */
export class Memory {
  constructor(facts, rows, config) {
    this.config = config.scoring;
    this.neighbours = config.neighbours;
    this.rows = rows;
    this.first = facts.first;
    this.cycles = facts.cycles;
    this.indices = indicesOf(rows, this.neighbours);
    this.reach = Math.max(...this.neighbours.horizons);
    this.recent = Array.from({ length: this.reach }, () => this.indices.map(() => null));
    const pace = this.config.pace * (this.first + rows.length);
    const { least_pace: least, most_pace: most } = this.config;
    this.follower = new Follower(
      facts.standardisers,
      Math.trunc(Math.min(Math.max(pace, least), most)),
      this.config,
    );
  }

  /** Rows before a row that its score depends on. */
  get context() {
    const longest = Math.max(0, ...this.indices.map((index) => index.length));
    return Math.max(longest + this.reach - 1, ...this.config.quiet_rows);
  }

  /**
   * Evidence of the last of `values`, which are scaled, and how quiet the channel is.
   * `positions` are those of the rows in steps from where training began, or null without times.
   */
  evidence(values, positions) {
    const row = values.length - 1;
    const { floor } = this.config;
    const found = this.indices.map((index) =>
      values.length < index.length
        ? null
        : index.lookUp(values.slice(values.length - index.length), this.reach, floor),
    );
    this.recent.push(found);
    const measured = { ...this.measured(values), ...this.quiet(values) };
    Object.assign(measured, this.calendar(values, positions));
    this.recent.shift();
    if (!Number.isFinite(values[row])) return { evidence: NaN, quiet: 0 };
    const said = this.combined(this.follower.standardise(measured));
    return { ...said, evidence: Number.isFinite(said.evidence) ? said.evidence : 0 };
  }

  // How new the contexts are that end here, and how badly those before foretold the last rows.
  measured(values) {
    const measured = {};
    this.indices.forEach(({ length }, number) => {
      FORMS.forEach((form, at) => {
        const now = this.recent[this.reach][number];
        measured[`new ${length} ${form}`] = now ? now.new[at] : NaN;
        for (const horizon of this.neighbours.horizons) {
          const before = this.recent[this.reach - horizon][number];
          const observed = values.slice(-horizon);
          const whole = before && observed.length === horizon;
          const error = whole ? blockError(observed, before.expected[at]) : NaN;
          measured[`ahead ${length} ${form} ${horizon}`] = Math.log(error + this.config.floor);
          if (length <= this.config.echo_length) {
            measured[`context ${length} ${form} ${horizon}`] = before ? before.new[at] : NaN;
          }
        }
      });
    });
    return measured;
  }

  // How much less than usual the channel varies over the last rows, as -log std.
  quiet(values) {
    const { quiet_rows, quiet_floor, quiet_known } = this.config;
    const measured = {};
    for (const rows of quiet_rows) {
      let [total, held] = [0, 0];
      for (let row = Math.max(1, values.length - rows); row < values.length; row++) {
        const step = values[row] - values[row - 1];
        if (!Number.isFinite(step)) continue;
        total += step * step;
        held += 1;
      }
      const known = held >= quiet_known * rows && Number.isFinite(values[values.length - 1]);
      const quiet = -0.5 * Math.log(total / Math.max(held, 1) + quiet_floor ** 2);
      measured[`quiet ${rows}`] = known ? quiet : NaN;
    }
    return measured;
  }

  // How far the last rows are from those at the same time in other cycles, on average.
  calendar(values, positions) {
    const measured = {};
    for (const cycle of this.cycles) {
      const from = Math.max(0, values.length - this.reach);
      const away = values.slice(from).map((value, row) =>
        positions ? Math.log(this.offClock(value, positions[from + row], cycle) + this.config.floor) : NaN,
      );
      for (const horizon of this.neighbours.horizons) {
        const known = away.slice(-horizon).filter(Number.isFinite);
        const mean = known.reduce((sum, each) => sum + each, 0) / known.length;
        measured[`calendar ${cycle} ${horizon}`] = known.length ? mean : NaN;
      }
    }
    return measured;
  }

  offClock(value, position, cycle) {
    const there = position - this.first;
    const end = this.rows.length - 1;
    const last = end - ((((end - there) % cycle) + cycle) % cycle);
    const count = Math.min(this.config.most_cycles, Math.ceil(this.rows.length / cycle));
    let nearest = NaN;
    for (let back = 0; back < count; back++) {
      const at = last - cycle * back;
      if (at < 0 || at === there) continue;
      nearest = fmin(nearest, Math.abs(value - this.rows[at]));
    }
    return nearest;
  }

  combined(said) {
    const { sharpness_of_parts: parts, sharpness_of_lengths: lengths, live_gate } = this.config;
    const { horizons } = this.neighbours;
    const ofForms = (value) => softMaximum(FORMS.map(value), parts);
    // With the oddness of the context and without it: what remains is no echo.
    const blocks = (fresh) =>
      horizons.map((horizon) =>
        softMaximum(
          this.indices.map(({ length }) =>
            ofForms((form) => {
              const key = `${length} ${form} ${horizon}`;
              const context = fresh ? said[`context ${key}`] : undefined;
              return said[`ahead ${key}`] - (context === undefined ? 0 : fmax(context, 0));
            }),
          ),
          lengths,
        ),
      );
    const forecasts = this.agreeing(blocks(false));
    const novel = this.indices.map(({ length }) => ofForms((form) => said[`new ${length} ${form}`]));
    const gated = novel.map((each) => fmin(each, forecasts + live_gate));
    const whole = softMaximum([forecasts, ...gated], lengths);
    const fresh = this.agreeing(blocks(true));
    let evidence = softMaximum([fresh, fmin(whole, fresh + this.config.echo_gate)], lengths);
    if (this.cycles.length) {
      const byClock = horizons.map((horizon) =>
        softMaximum(this.cycles.map((cycle) => said[`calendar ${cycle} ${horizon}`]), lengths),
      );
      evidence = fmax(evidence, this.agreeing(byClock));
    }
    const quietest = this.config.quiet_rows.map((rows) => said[`quiet ${rows}`]).reduce(fmax);
    const beyond = Number.isNaN(quietest) ? 0 : Math.sinh(quietest);
    return { evidence, quiet: Math.min(Math.max(beyond, 0), this.config.quiet_most) };
  }

  // All blocks, each only as far as shorter ones agree.
  agreeing(blocks) {
    const agreed = [];
    for (const each of blocks) {
      const before = agreed.at(-1);
      agreed.push(before === undefined ? each : fmin(each, before + this.config.live_gate));
    }
    return softMaximum(agreed, this.config.sharpness_of_lengths);
  }
}

/** What is usual of each measure, followed over the rows before. */
class Follower {
  constructor(standardisers, pace, config) {
    this.config = config;
    this.every = Math.max(1, Math.floor(pace / config.samples)); // rows between two samples
    this.refresh = Math.floor(config.samples / config.refreshes); // samples between two refreshes
    this.rows = 0;
    const like = normalSample(config.samples);
    this.parts = Object.entries(standardisers).map(([key, [mean, std]]) => ({
      key,
      mean,
      std,
      location: mean,
      scale: std,
      // Until rows have come, the span holds the like of training.
      sample: like.map((each) => mean + std * each),
    }));
  }

  standardise(measured) {
    const said = {};
    const taken = this.rows % this.every === 0;
    const slot = Math.floor(this.rows / this.every) % this.config.samples;
    this.rows += 1;
    const renewed = this.rows % (this.every * this.refresh) === 0;
    for (const part of this.parts) {
      const value = measured[part.key];
      said[part.key] = Math.asinh((value - part.location) / part.scale);
      if (taken) part.sample[slot] = value;
      if (renewed) this.renew(part);
    }
    return said;
  }

  renew(part) {
    const { samples, slack_mean, slack_std } = this.config;
    const known = part.sample.filter(Number.isFinite).sort();
    part.location = part.mean;
    part.scale = part.std;
    if (known.length < Math.max(1, Math.floor(samples / 4))) return;
    const last = known.length - 1;
    const median = known[Math.floor(last / 2)];
    const upper = known[Math.floor((3 * last) / 4)];
    const widened = (upper - Math.max(median, part.mean)) / QUARTILE / slack_std;
    part.location = Math.max(part.mean, median - slack_mean * part.std);
    part.scale = Math.max(part.std, widened);
  }
}

// Quantiles of a normal distribution, in an order in which any piece is like the whole.
function normalSample(count) {
  const shares = Array.from({ length: count }, (_, each) => (each * GOLDEN) % 1);
  const order = shares.map((_, each) => each).sort((a, b) => shares[a] - shares[b]);
  const sample = new Float64Array(count);
  order.forEach((each, rank) => (sample[each] = normalQuantile((rank + 0.5) / count)));
  return sample;
}
