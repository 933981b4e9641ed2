// The same formulas as stats/ has; a test holds them to its numbers.

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const variance = (values) => values.reduce((sum, x) => sum + (x - mean(values)) ** 2, 0) / (values.length - 1);

// Student's quantile at 95 %, read between the table's points, which are evenly apart in 1/df.
function student(df) {
  const at = (data.student.length - 1) / df;
  const below = Math.min(Math.floor(at), data.student.length - 2);
  return data.student[below] + (at - below) * (data.student[below + 1] - data.student[below]);
}

// mean(a) − mean(b), by Welch; without an interval where either has fewer values than have one in tables.
function difference(a, b) {
  const effect = mean(a) - mean(b);
  if (Math.min(a.length, b.length) < data.least) return { effect, low: null, high: null };
  const parts = [a, b].map((x) => variance(x) / x.length);
  const spread = parts[0] ** 2 / (a.length - 1) + parts[1] ** 2 / (b.length - 1);
  const df = spread ? (parts[0] + parts[1]) ** 2 / spread : a.length + b.length - 2;
  const half = student(df) * Math.sqrt(parts[0] + parts[1]);
  return { effect, low: effect - half, high: effect + half };
}

// Probability that a run of a beats a run of b, with Newcombe's score interval.
function improvement(a, b) {
  const found = mean(a.map((x) => mean(b.map((y) => Number(x > y) + 0.5 * Number(x === y)))));
  if (Math.min(a.length, b.length) < data.least) return { effect: found, low: null, high: null };
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
