// Numbers as numpy has them: not-a-number for missing, single precision where Python has it.

export const single = Math.fround;

// Of two, the one that is known: numpy's fmax and fmin.
export const fmax = (a, b) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b));
export const fmin = (a, b) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b));

/** sharpness * log mean exp(value / sharpness); a value that is not known is silent. */
export function softMaximum(values, sharpness) {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return NaN;
  const loud = known.reduce((total, value) => total + Math.exp(value / sharpness), 0);
  return sharpness * Math.log(Math.max(loud / values.length, 1e-300));
}

/** Linear between points of rising `xs`, the nearest one beyond their ends. */
export function interpolate(x, xs, ys) {
  if (Number.isNaN(x)) return NaN;
  if (x <= xs[0]) return ys[0];
  const last = xs.length - 1;
  if (x >= xs[last]) return ys[last];
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  return ys[low] + ((ys[high] - ys[low]) / (xs[high] - xs[low])) * (x - xs[low]);
}

/** Gaps as the line between their neighbours, the nearest value at the ends, 0 if none is known. */
export function bridge(values) {
  const known = [];
  for (let row = 0; row < values.length; row++) if (Number.isFinite(values[row])) known.push(row);
  if (known.length === values.length) return values;
  if (known.length === 0) return values.map(() => 0);
  const heights = known.map((row) => values[row]);
  return values.map((value, row) =>
    Number.isFinite(value) ? value : interpolate(row, known, heights),
  );
}

/** The sum of singles from `start` on, added in numpy's order. */
export function sumOfSingles(values, start, count) {
  let total = 0;
  let row = 0;
  if (count >= 8) {
    const parts = Array.from({ length: 8 }, (_, lane) => values[start + lane]);
    for (row = 8; row + 8 <= count; row += 8) {
      for (let lane = 0; lane < 8; lane++) {
        parts[lane] = single(parts[lane] + values[start + row + lane]);
      }
    }
    const pair = (first) => single(parts[first] + parts[first + 1]);
    total = single(single(pair(0) + pair(2)) + single(pair(4) + pair(6)));
  }
  for (; row < count; row++) total = single(total + values[start + row]);
  return total;
}

const A = [
  2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
  13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608,
];
const B = [
  5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
  5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1,
];
const C = [
  7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
  1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959,
  1.42343711074968357734,
];
const D = [
  1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
  0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1,
];
const E = [
  2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
  0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699,
  6.6579046435011037772,
];
const F = [
  2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
  7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
  0.59983220655588793769, 1,
];

/** The quantile of a normal distribution, by Wichura's AS 241. */
export function normalQuantile(share) {
  const ratio = (above, below, x) =>
    above.reduce((sum, each) => sum * x + each, 0) / below.reduce((sum, each) => sum * x + each, 0);
  const q = share - 0.5;
  if (Math.abs(q) <= 0.425) return q * ratio(A, B, 0.180625 - q * q);
  const r = Math.sqrt(-Math.log(q <= 0 ? share : 1 - share));
  const x = r <= 5 ? ratio(C, D, r - 1.6) : ratio(E, F, r - 5);
  return q < 0 ? -x : x;
}
