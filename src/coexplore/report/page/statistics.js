// The same formulas as stats/ has; a test holds them to its numbers.

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const variance = (values) => values.reduce((sum, x) => sum + (x - mean(values)) ** 2, 0) / (values.length - 1);

// Student's quantile at 95 %, read between the table's points, which are evenly apart in 1/df.
function student(df) {
  const at = (data.student.length - 1) / df;
  const below = Math.min(Math.floor(at), data.student.length - 2);
  return data.student[below] + (at - below) * (data.student[below + 1] - data.student[below]);
}

// Where values have bounds, Gaffke's interval: Σ D_i x_i + D_(n+1) · bound, in as many draws as Python makes, the same ones.
const [DRAWS, TAIL, STRIDES] = [9999, 248, [1, 6181]];

function scrambled(x) {
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

// D [n, DRAWS] and 1 − D_(n+1) [DRAWS], for a group of n; made once.
const made = new Map();
function weights(n, group) {
  const key = 2 * n + group;
  if (!made.has(key)) {
    const shares = new Float64Array(n * DRAWS), sums = new Float64Array(DRAWS), salt = scrambled(key);
    for (let i = 0; i < n * DRAWS; i += 1) {
      shares[i] = -Math.log((scrambled(scrambled(i) ^ salt) + 0.5) / 2 ** 32);
      sums[i % DRAWS] += shares[i];
    }
    const rest = sums.map((_, k) => (((k * STRIDES[group]) % DRAWS + 0.5) / DRAWS) ** (1 / n));
    made.set(key, { shares: shares.map((x, i) => x / sums[i % DRAWS] * rest[i % DRAWS]), rest });
  }
  return made.get(key);
}

function drawn(values, [low, high], group = 0) {
  const x = Float64Array.from(values).sort();
  const { shares, rest } = weights(x.length, group);
  const inside = new Float64Array(DRAWS);
  for (let i = 0; i < shares.length; i += 1) inside[i % DRAWS] += shares[i] * x[Math.floor(i / DRAWS)];
  const beside = (bound) => inside.map((y, k) => y + (1 - rest[k]) * bound);
  return { low: beside(Math.min(low, x[0])), high: beside(Math.max(high, x.at(-1))) };
}

const ends = (effect, { low, high }) => ({ effect, low: low.sort()[TAIL], high: high.sort()[DRAWS - 1 - TAIL] });

function level(values, bounds) {
  if (bounds) return ends(mean(values), drawn(values, bounds));
  const half = values.length > 1 ? student(values.length - 1) * Math.sqrt(variance(values) / values.length) : null;
  return around(mean(values), half);
}

// mean(a) − mean(b); without bounds by Welch.
function difference(a, b, bounds) {
  const effect = mean(a) - mean(b);
  if (bounds) {
    const [mine, theirs] = [drawn(a, bounds, 0), drawn(b, bounds, 1)];
    return ends(effect, { low: mine.low.map((x, k) => x - theirs.high[k]), high: mine.high.map((x, k) => x - theirs.low[k]) });
  }
  if (Math.min(a.length, b.length) < 2) return around(effect, null);
  const parts = [a, b].map((x) => variance(x) / x.length);
  const spread = parts[0] ** 2 / (a.length - 1) + parts[1] ** 2 / (b.length - 1);
  const df = spread ? (parts[0] + parts[1]) ** 2 / spread : a.length + b.length - 2;
  return around(effect, student(df) * Math.sqrt(parts[0] + parts[1]));
}

const around = (effect, half) => ({ effect, low: half === null ? null : effect - half, high: half === null ? null : effect + half });

// Probability that a run of a beats a run of b, with Newcombe's score interval.
function improvement(a, b) {
  const found = mean(a.map((x) => mean(b.map((y) => Number(x > y) + 0.5 * Number(x === y)))));
  const [n, z] = [(a.length + b.length) / 2, data.student[0]];
  const gap = (theta) => {
    const spread = 1 + (n - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta));
    return (found - theta) ** 2 - z ** 2 * theta * (1 - theta) * spread / (a.length * b.length);
  };
  const beside = 1e-9; // at 0 and 1 the estimate itself is a root, and not the one wanted
  return { effect: found, low: found === 0 ? 0 : root(gap, 0, found - beside), high: found === 1 ? 1 : root(gap, found + beside, 1) };
}

function root(f, low, high) {
  const sign = f(low) > 0;
  for (let i = 0; i < 60; i += 1) {
    const middle = (low + high) / 2;
    if (f(middle) > 0 === sign) low = middle; else high = middle;
  }
  return (low + high) / 2;
}
