// How numbers are written, everywhere. What is written is rounded here and nowhere else; points of curves come rounded,
// and are written as they are.

const missing = (x) => x === null || x === undefined;
const digits = (x) => Math.abs(x) < 9.9995 ? 3 : Math.abs(x) < 99.995 ? 2 : 1;
const plain = (x) => Math.abs(x).toFixed(digits(x));
const negative = (x) => x < 0 && Number(plain(x)) !== 0;
const number = (x) => missing(x) ? "–" : (negative(x) ? "−" : "") + plain(x);
const signed = (x) => missing(x) ? "–" : (negative(x) ? "−" : "+") + plain(x);
const point = (x) => missing(x) ? "–" : String(x).replace("-", "−");
const whole = (x) => x.toLocaleString("en");
const plural = (count, name) => `${whole(count)} ${name}${count === 1 ? "" : "s"}`;

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
