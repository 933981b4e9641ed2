// How numbers are written, everywhere.

const missing = (x) => x === null || x === undefined;
const number = (x) => missing(x) ? "–" : x.toFixed(3).replace("-", "−");
const signed = (x) => missing(x) ? "–" : (x < 0 ? "−" : "+") + Math.abs(x).toFixed(3);
const whole = (x) => x.toLocaleString("en");

// Mean with its 95 % interval, of [mean, sd, low, high].
const withInterval = ([mean, , low, high]) => missing(low) ? number(mean) : `${number(mean)} [${number(low)}, ${number(high)}]`;

function compact(x) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(x) >= size) return `${+(x / size).toPrecision(3)}${letter}`;
  }
  return String(+x.toPrecision(3));
}

function duration(seconds) {
  if (missing(seconds)) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
