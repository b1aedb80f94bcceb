// Subsequences of the training part, the nearest of them to the last rows, and what followed them.

import { bridge, single, sumOfSingles } from "./numbers.mjs";

export const FORMS = ["raw", "centred", "znormalised"];

/** An index for every length that fits the training rows, up to the longest live context. */
export function indicesOf(rows, config) {
  const values = Float64Array.from(rows);
  return config.lengths
    .filter((length) => length <= Math.floor(rows.length / config.training_lengths))
    .filter((length) => length <= config.live_context_length)
    .map((length) => SubsequenceIndex.of(rows, values, length, config))
    .filter((index) => index !== null);
}

export class SubsequenceIndex {
  static of(rows, values, length, config) {
    let starts = [];
    let observed = 0;
    for (let row = 0; row < values.length; row++) {
      observed += Number.isFinite(values[row]) ? 1 : 0;
      if (row >= length) observed -= Number.isFinite(values[row - length]) ? 1 : 0;
      const start = row - length + 1;
      if (start >= 0 && observed / length >= config.least_observed) starts.push(start);
    }
    if (starts.length < 2 * length) return null;
    const size = Math.min(config.index_size, config.size_per_row * length);
    if (starts.length > size) {
      const step = (starts.length - 1) / (size - 1);
      const all = starts;
      starts = Array.from({ length: size }, (_, each) =>
        each === size - 1 ? all[all.length - 1] : all[Math.floor(each * step)],
      );
    }
    starts = starts.slice(starts.length % config.divisions);
    return new SubsequenceIndex(rows, values, starts, length, config);
  }

  constructor(rows, values, starts, length, config) {
    Object.assign(this, { rows, starts, length, config });
    this.step = Math.max(1, Math.floor(length / config.segments));
    this.width = length / this.step;
    const total = new Float64Array(values.length + 1);
    bridge(values).forEach((value, row) => (total[row + 1] = total[row] + value));
    const count = starts.length;
    this.raw = new Float32Array(count * this.width);
    this.centred = new Float32Array(count * this.width);
    this.level = new Float32Array(count);
    this.std = new Float32Array(count);
    this.sizes = new Float32Array(count);
    this.perStd = new Float32Array(count);
    this.unitSizes = new Float32Array(count);
    this.levels = new Float32Array(count);
    this.root = single(Math.sqrt(this.width));
    for (let each = 0; each < count; each++) {
      const means = new Float32Array(this.width);
      for (let segment = 0; segment < this.width; segment++) {
        const from = starts[each] + segment * this.step;
        means[segment] = (total[from + this.step] - total[from]) / this.step;
      }
      const forms = inForms(means, config.least_std);
      this.raw.set(means, each * this.width);
      this.centred.set(forms.centred, each * this.width);
      this.level[each] = forms.level;
      this.std[each] = forms.std;
      const squares = forms.centred.map((value) => value * value);
      this.sizes[each] = sumOfSingles(squares, 0, this.width);
      this.perStd[each] = 1 / forms.std;
      this.unitSizes[each] = this.sizes[each] / single(forms.std * forms.std);
      this.levels[each] = this.root * forms.level;
    }
  }

  /** How new the context `values` is and what is expected after it, by form; null if unseen. */
  lookUp(values, reach, floor) {
    const observed = values.reduce((count, each) => count + (Number.isFinite(each) ? 1 : 0), 0);
    if (observed < this.config.least_observed * this.length) return null;
    const bridged = bridge(values);
    const query = new Float32Array(this.width);
    for (let segment = 0; segment < this.width; segment++) {
      let total = 0;
      for (let row = 0; row < this.step; row++) total += bridged[segment * this.step + row];
      query[segment] = total / this.step;
    }
    const wanted = inForms(query, this.config.least_std);
    const nearest = this.nearest(wanted);
    const distances = FORMS.map((_, form) => this.distance(form, query, wanted, nearest[form].best));
    return {
      new: distances.map((distance) => Math.log(distance + floor)),
      expected: nearest.map(({ ofDivisions }, form) =>
        ofDivisions.map((each) => this.following(form, each, wanted, reach)),
      ),
    };
  }

  // Squared distances in every form, up to a constant of the query: the nearest of each division.
  nearest(wanted) {
    const { width, centred } = this;
    const count = this.starts.length;
    const { divisions } = this.config;
    const span = count / divisions;
    const moved = single(this.root * wanted.level);
    const found = FORMS.map(() => ({ best: 0, least: Infinity, ofDivisions: [] }));
    for (let division = 0; division < divisions; division++) {
      const least = FORMS.map(() => Infinity);
      const at = FORMS.map(() => division * span);
      for (let each = division * span; each < (division + 1) * span; each++) {
        let product = 0;
        const from = each * width;
        for (let k = 0; k < width; k++) product += wanted.centred[k] * centred[from + k];
        const apart = single(this.sizes[each] - 2 * product);
        const away = single(this.levels[each] - moved);
        const room = single(single(wanted.std - this.std[each]) * this.unitSizes[each]);
        const squares = [
          single(single(away * away) + apart),
          apart,
          single(single(apart * this.perStd[each]) + room),
        ];
        for (let form = 0; form < 3; form++) {
          if (squares[form] < least[form]) {
            least[form] = squares[form];
            at[form] = each;
          }
        }
      }
      found.forEach((form, number) => {
        form.ofDivisions.push(at[number]);
        if (least[number] < form.least) {
          form.least = least[number];
          form.best = at[number];
        }
      });
    }
    return found;
  }

  distance(form, query, wanted, each) {
    const from = each * this.width;
    let total = 0;
    for (let k = 0; k < this.width; k++) {
      let [ours, theirs] = [query[k], this.raw[from + k]];
      if (form > 0) [ours, theirs] = [wanted.centred[k], this.centred[from + k]];
      if (form > 1) [ours, theirs] = [single(ours / wanted.std), single(theirs / this.std[each])];
      total += single(ours - theirs) ** 2;
    }
    return Math.sqrt(total / this.width);
  }

  // What came after a subsequence of training, moved and brought to the size of the query.
  following(form, each, wanted, reach) {
    const first = this.starts[each] + this.length;
    const factor = single(wanted.std / this.std[each]);
    return Float32Array.from({ length: reach }, (_, offset) => {
      const row = first + offset;
      let value = row < this.rows.length ? this.rows[row] : NaN;
      if (form > 0) value = single(value - this.level[each]);
      if (form > 1) value = single(value * factor);
      return form > 0 ? single(value + wanted.level) : value;
    });
  }
}

function inForms(means, leastStd) {
  const width = means.length;
  const mean = (values) => single(sumOfSingles(values, 0, width) / width);
  const level = mean(means);
  const centred = means.map((value) => value - level);
  const rest = mean(centred);
  const squares = centred.map((value) => single(value - rest) ** 2);
  const std = Math.max(single(Math.sqrt(mean(squares))), single(leastStd));
  return { level, centred, std };
}

/** Root mean squared error of the last rows against what was expected, by the nearest division. */
export function blockError(observed, expected) {
  const rows = observed.length;
  let best = Infinity;
  for (const division of expected) {
    let total = 0;
    let held = 0;
    for (let row = 0; row < rows; row++) {
      const error = single(single(observed[row]) - division[row]);
      if (!Number.isFinite(error)) continue;
      total = single(total + single(error * error));
      held += 1;
    }
    if (2 * held > rows) best = Math.min(best, single(total / held));
  }
  return best === Infinity ? NaN : single(Math.sqrt(best));
}
