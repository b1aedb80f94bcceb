// Live scores of a model that `caps export` wrote, by the rows before each alone.
//
//   const model = await CapsModel.load("model.onnx");
//   const stream = model.stream();
//   const { score, pValue, alarm } = await stream.update({ load: 5.1 }, new Date());
//
// A model without a detector, as by default, is scored by this module alone. One with a detector
// needs onnxruntime: `npm install onnxruntime-node`, or any other given as `ort`.

import { readExport } from "./file.mjs";
import { Memory } from "./memory.mjs";
import { bridge, interpolate } from "./numbers.mjs";

const CLIP = 10; // std: what a detector has seen
const LARGEST_LOGIT = Math.log((1 - Number.EPSILON) / Number.EPSILON);
const LARGEST_LEVEL = 40; // its score is exactly 1
const SECONDS = {
  second: 1, minute: 60, hour: 3600, day: 86400, week: 7 * 86400,
  month: 30.4375 * 86400, year: 365.25 * 86400,
};

export class CapsModel {
  /** Read a file; `ort` is an onnxruntime other than onnxruntime-node. */
  static async load(path, options = {}) {
    const { readFile } = await import("node:fs/promises");
    return CapsModel.fromBytes(new Uint8Array(await readFile(path)), options);
  }

  static async fromBytes(bytes, { ort } = {}) {
    const facts = await readExport(bytes);
    let run = null;
    if (Object.keys(facts.networks).length) {
      const runtime = ort ?? (await import("onnxruntime-node"));
      const session = await runtime.InferenceSession.create(bytes, { intraOpNumThreads: 1 });
      run = async (window, network) => {
        const windows = new runtime.Tensor("float32", Float32Array.from(window), [1, window.length]);
        const channel = new runtime.Tensor("int64", BigInt64Array.from([BigInt(network)]), [1]);
        const { logits } = await session.run({ windows, channel });
        return logits.data[window.length - 1];
      };
    }
    return new CapsModel(facts, run);
  }

  constructor(facts, run) {
    Object.assign(this, { facts, run, model: facts.model, alarms: facts.alarms });
    this.names = this.model.channels.map((channel) => channel.name);
    if (!this.model.causal) {
      throw new Error("the model scores rows by both sides: fit it with causal=True (--causal)");
    }
  }

  /** The score from which on a row is part of an event, for a budget such as 1/day. */
  threshold(alarms = this.alarms) {
    const { levels, event_rate: rates, scale } = this.model.calibration;
    const rate = this.alarmRate(alarms);
    const last = rates.length - 1;
    let level;
    if (rate < rates[last]) level = levels[last] - scale * Math.log(rate / rates[last]);
    else {
      const ends = rates.map((_, each) => each).filter((k) => k === last || rates[k + 1] < rates[k]);
      ends.reverse();
      level = interpolate(Math.log(rate), ends.map((k) => Math.log(rates[k])), ends.map((k) => levels[k]));
    }
    return Math.max(this.score(1), -Math.expm1(-level));
  }

  alarmRate(alarms) {
    if (typeof alarms === "number") return alarms;
    const [, count, per] = /^\s*(\d+(?:\.\d*)?)\s*(?:\/|per)\s*(\d+|[a-z]+?)s?\s*$/i.exec(alarms) ?? [];
    const seconds = SECONDS[per?.toLowerCase()];
    if (Number(per)) return Number(count) / Number(per);
    if (seconds && this.model.step) return (Number(count) * this.model.step) / 1e9 / seconds;
    throw new Error(`the alarm budget ${alarms} cannot be used: write it like 1/1000 or, with times, 1/day`);
  }

  score(evidence) {
    return 1 - Math.exp(-this.model.config.scoring.halving * evidence);
  }

  /** How often a normal row scores at least as high. */
  pValue(score) {
    const { levels, row_rate: rates, scale } = this.model.calibration;
    const level = Math.min(-Math.log1p(-score), LARGEST_LEVEL);
    const beyond = Math.max(level - levels.at(-1), 0) / scale;
    return Math.exp(interpolate(level, levels, rates.map(Math.log)) - beyond);
  }

  stream(options) {
    return new Stream(this, options);
  }
}

/** Scores rows as they come, in the order of their times. */
export class Stream {
  constructor(model, { alarms } = {}) {
    this.model = model;
    this.thresholdOfAlarms = model.threshold(alarms);
    const { config, channels } = model.model;
    this.memories = channels.map((channel, column) =>
      channel.memory ? new Memory(channel.memory, model.facts.banks[column], config) : null,
    );
    const windows = channels.map((channel) => (channel.detector?.window ?? 1) - 1);
    const memories = this.memories.map((memory) => memory?.context ?? 0);
    this.context = Math.max(config.scoring.level_rows - 1, ...windows, ...memories) + 1;
    this.scaled = channels.map(() => []); // the last rows of each channel
    this.positions = []; // of the same rows, in steps from where training began
    this.before = null; // the row before, in the units of the data
    this.timed = null;
  }

  /**
   * The score of the next row: a number for each channel, by name or in order; null is missing.
   * `time` is a Date or milliseconds; give it with every row, or with none. A row that is not
   * after the one before is refused; steps that were left out count as missing rows.
   */
  async update(row, time = null) {
    const values = this.read(row);
    const position = this.position(time);
    if (position !== null && this.positions.length) {
      const ahead = position - this.positions.at(-1);
      if (ahead < 1) throw new Error("the row is not later than the one before: give rows in order");
      const missing = Math.min(ahead - 1, this.context);
      for (let back = missing; back > 0; back--) {
        await this.take(values.map(() => NaN), position - back);
      }
    }
    const evidence = await this.take(values, position);
    const known = evidence.filter(Number.isFinite).sort((a, b) => b - a);
    if (!known.length) return { score: NaN, pValue: NaN, alarm: false, evidence };
    const { aggregate, config } = this.model.model;
    const top = aggregate === "max" ? known.slice(0, 1) : known.slice(0, config.scoring.top);
    const total = top.reduce((sum, each) => sum + each, 0) / top.length;
    const score = this.model.score(Math.max(total, config.scoring.least_evidence));
    return {
      score,
      pValue: this.model.pValue(score),
      alarm: score >= this.thresholdOfAlarms,
      evidence, // of each channel, as -log p
    };
  }

  read(row) {
    const { names } = this.model;
    const given = typeof row === "number" ? [row] : Array.isArray(row) ? row : names.map((name) => row[name]);
    if (given.length !== names.length) {
      throw new Error(`${given.length} values for the channels ${names.join(", ")}: give one for each`);
    }
    return given.map((value) => {
      if (value === null || value === undefined) return NaN;
      const number = Number(value);
      if (Number.isNaN(number) && typeof value !== "number") {
        throw new Error(`${value} is no number: give numbers, or null for missing`);
      }
      return Number.isFinite(number) ? number : NaN;
    });
  }

  position(time) {
    const { start, step, facts } = this.model.model;
    this.timed ??= time !== null;
    if (this.timed !== (time !== null)) throw new Error("give a time with every row, or with none");
    if (time === null || step === null || start === null || facts.regular === false) return null;
    return Math.round((Number(time) * 1e6 - start) / step);
  }

  // The evidence of each channel about one row of the grid.
  async take(values, position) {
    const { channels, scaler, config, counters } = this.model.model;
    const rated = values.map((value, column) => {
      if (!counters.includes(channels[column].name)) return value;
      const rise = value - (this.before?.[column] ?? NaN);
      return rise < 0 ? value : rise;
    });
    this.before = values;
    const { clip } = config.scoring;
    this.positions.push(position);
    if (this.positions.length > this.context) this.positions.shift();
    const evidence = [];
    for (const [column, channel] of channels.entries()) {
      const value = (rated[column] - scaler.centre[column]) / scaler.scale[column];
      const rows = this.scaled[column];
      rows.push(Math.min(Math.max(value, -clip), clip));
      if (rows.length > this.context) rows.shift();
      evidence.push(await this.evidence(channel, column, rated[column]));
    }
    return evidence;
  }

  async evidence(channel, column, value) {
    const { config } = this.model.model;
    const { scoring } = config;
    const rows = this.scaled[column];
    const neverSeen = (odd) => {
      const p = odd ? 1 / (channel.rows + 1) : 1;
      return Number.isFinite(value) ? -Math.log(Math.max(p, scoring.smallest_p)) : NaN;
    };
    const memory = this.memories[column];
    const recall = memory?.evidence(rows, this.positions[0] === null ? null : this.positions);
    if (channel.kind === "silent") return neverSeen(false);
    if (channel.kind === "binary") return neverSeen(isThird(rows.at(-1), this.model.facts.banks[column], scoring));
    if (channel.kind === "constant") {
      const moved = Math.abs(value - channel.value) > scoring.resolution * Math.abs(channel.value);
      return neverSeen(moved) + (recall ? scoring.constant_memory * Math.max(recall.evidence, 0) : 0);
    }
    let logit = recall?.evidence;
    if (channel.detector) logit = await this.withDetector(channel, column, recall);
    let evidence = Math.max(tailEvidence(channel.calibration, logit), recall?.quiet ?? 0);
    if (channel.bound !== null) evidence = (evidence * channel.bound) / (evidence + channel.bound);
    else if (channel.level !== null) evidence = Math.max(evidence, ofLevel(channel.level, rows, scoring));
    return evidence;
  }

  async withDetector(channel, column, recall) {
    const rows = this.scaled[column];
    if (!Number.isFinite(rows.at(-1))) return NaN;
    const { window } = channel.detector;
    const cut = padded(rows.slice(-window), window).map((each) => Math.min(Math.max(each, -CLIP), CLIP));
    const logit = await this.model.run(bridge(cut), this.model.facts.networks[column]);
    if (!recall) return logit;
    const [mean, std] = channel.standardiser;
    const { sharpness_of_lengths: sharpness, detector_weight: weight } = this.model.model.config.scoring;
    const loud = (1 - weight) * Math.exp(recall.evidence / sharpness);
    const said = Math.asinh((logit - mean) / std);
    return sharpness * Math.log(loud + weight * Math.exp(said / sharpness));
  }
}

// -log p of a channel's logit; beyond the counted levels the tail is exponential.
function tailEvidence({ levels, row_rate: rates, scale }, logit) {
  const level = Math.min(Math.max(logit, -LARGEST_LOGIT), LARGEST_LOGIT);
  const counted = interpolate(level, levels, rates.map((rate) => -Math.log(rate)));
  return counted + Math.max(level - levels.at(-1), 0) / scale;
}

function isThird(scaled, bank, scoring) {
  const known = [...new Set(bank.filter(Number.isFinite))];
  const away = Math.min(...known.map((each) => Math.abs(scaled - each)));
  return away > scoring.same * Math.abs(known[1] - known[0]);
}

// -log p of the mean of the last rows, beyond the range that it had in training.
function ofLevel({ low, high, scale }, rows, scoring) {
  const known = rows.slice(-scoring.level_rows).filter(Number.isFinite);
  if (!Number.isFinite(rows.at(-1))) return NaN;
  const level = known.reduce((sum, each) => sum + each, 0) / known.length;
  return Math.max(low - level, level - high, 0) / scale;
}

// Reflected rows in front of too few; a single one is repeated.
function padded(rows, size) {
  const period = Math.max(1, 2 * (rows.length - 1));
  return Array.from({ length: size }, (_, each) => {
    const back = (((each - (size - rows.length)) % period) + period) % period;
    return rows[back < rows.length ? back : period - back];
  });
}
