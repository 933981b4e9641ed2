// Learning curves: the mean over seeds, with a band of one sd or of a 95 % interval. Those of the reader's runs are of the
// runs that learned, with Student's interval; those of figures are of all runs, with the interval that verdicts have.

const BANDS = { sd: "± sd", interval: "Student's 95 %", none: "no band" };
const FIGURE_BANDS = { ...BANDS, interval: "bounded 95 %" };
const WINDOWS = { all: "all", first: "first quarter", last: "last quarter" };

// One line from a setting: x in episodes, or in draws of the hidden layer.
function curve(setting, { label = setting.label, look, compute = false, learned = false }) {
  const axis = data.axes[setting.axis];
  const { mean, sd } = (learned && setting.learned) || setting;
  const interval = learned ? students(mean, sd, setting.averaged) : setting.lows && [setting.lows, setting.highs];
  return {
    label, look, setting, mean, sd, interval,
    x: compute ? axis.map((x) => x * setting.draws) : axis,
    band: (kind) => !sd || kind === "none" ? null : kind === "interval" ? interval : spread(mean, sd, setting.possible),
  };
}

// Ends of Student's interval at each point; none of fewer runs than have one in tables.
function students(mean, sd, n) {
  if (!sd || n < data.least) return null;
  const half = sd.map((spread) => student(n - 1) * spread / Math.sqrt(n));
  return [-1, 1].map((side) => mean.map((y, i) => y + side * half[i]));
}

// One sd on either side, but not beyond what is possible.
const spread = (mean, sd, bounds) => [-1, 1].map((side) => mean.map((y, i) => within(y + side * sd[i], y, bounds)));

// A mean may lie outside of what a run is expected to reach, and so may its band then.
const within = (end, mean, bounds) => bounds ? Math.min(Math.max(end, Math.min(bounds[0], mean)), Math.max(bounds[1], mean)) : end;

// Most runs are as long as their episodes; some have a budget of steps.
const unit = (lines) => [...new Set(lines.map(({ setting }) => setting?.unit ?? "episodes"))].sort().join(" or ");

function extent(lines, window, compute) {
  const end = Math.max(0, ...lines.map(({ x }) => x.at(-1) ?? 0));
  if (compute) return { max: end };
  return { all: { min: 0, max: end }, first: { min: 0, max: end / 4 }, last: { min: 0.75 * end, max: end } }[window];
}

function curvesOption(every, { band, window, compute = false }, size) {
  const lines = every.filter(({ x }) => x.length); // a pack keeps no curve of what only served to choose
  const name = compute ? "draws of the hidden layer" : unit(lines);
  const shown = extent(lines, window, compute);
  const cuts = lines.map((line) => cut(line, shown)).filter(({ x }) => x.length);
  const names = naming(cuts, ({ x, mean: y }) => [x.at(-1), y.at(-1)], size);
  return {
    names, grid: grid(names.right),
    xAxis: axis(name, {
      type: compute ? "log" : "value", ...shown, splitNumber: few(size),
      axisLabel: { color: theme.colour("faint"), formatter: compact, hideOverlap: true },
    }),
    yAxis: rewardAxis(),
    tooltip: tooltip({ trigger: "axis", formatter: (items) => curveHint(items, lines, band, name) }),
    series: cuts.flatMap((line) => [...bandSeries(line, cutBand(line, line.band(band))), lineSeries(line)]),
  };
}

// Only what is shown: a name stands where the line ends.
function cut(line, { min = -Infinity, max = Infinity }) {
  const kept = [...line.x.keys()].filter((i) => line.x[i] >= min && line.x[i] <= max);
  return { ...line, kept, x: kept.map((i) => line.x[i]), mean: kept.map((i) => line.mean[i]) };
}
const cutBand = ({ kept }, band) => band && band.map((side) => kept.map((i) => side[i]));

const lineSeries = ({ label, look, x, mean }) => ({
  type: "line", name: label, data: x.map((at, i) => [at, mean[i]]),
  symbol: look.symbol, symbolSize: 6, showAllSymbol: false,
  showSymbol: x.length < 3, lineStyle: { color: look.colour, type: look.dash, width: 2 }, itemStyle: { color: look.colour },
});

// A band is an invisible line below and an area on top of it.
function bandSeries({ label, look, x }, band) {
  if (!band) return [];
  const part = (values, area) => ({
    type: "line", name: `${label} band`, data: x.map((at, i) => [at, values[i]]), stack: label, stackStrategy: "all",
    symbol: "none", lineStyle: { opacity: 0 }, silent: true, tooltip: { show: false },
    areaStyle: area ? { color: look.colour, opacity: 0.15 } : undefined,
  });
  return [part(band[0], false), part(band[1].map((high, i) => high - band[0][i]), true)];
}

function curveHint(items, lines, band, name) {
  const at = items[0].axisValue;
  const rows = lines.map((line) => {
    const i = nearest(line.x, at);
    const ends = line.band(band);
    return [line.look.colour, line.label, point(line.mean[i]) + (ends ? ` [${point(ends[0][i])}, ${point(ends[1][i])}]` : "")];
  });
  return told(`${whole(Math.round(at))} ${name}`, rows);
}

function nearest(x, at) {
  const after = x.findIndex((value) => value >= at);
  if (after < 1) return after < 0 ? x.length - 1 : 0;
  return at - x[after - 1] < x[after] - at ? after - 1 : after;
}

// Of a figure; of the reader's runs it is `learnedSummary`.
const curvesSummary = (lines) => ({
  columns: ["setting", "seeds", "first quarter [bounded 95 %]", "last quarter", "all"],
  rows: lines.map(({ label, setting }) => [label, String(setting.runs.length),
    ...["first", "last", "all"].map((window) => withInterval(setting[window]))]),
});

const learnedSummary = (lines) => ({
  columns: ["setting", "seeds", "frozen", "first quarter [Student's 95 %]", "last quarter", "all"],
  rows: lines.map(({ label, setting }) => [label, String(setting.runs.length), setting.frozen ?? "",
    ...["first", "last", "all"].map((window) => setting.cells[window])]),
});

const curvesPoints = (lines, compute = false) => ({
  columns: ["setting", compute ? "draws" : unit(lines), "reward", "sd", "low", "high"],
  rows: lines.flatMap(({ label, x, mean, sd, interval }) =>
    x.map((at, i) => [label, at, mean[i], sd?.[i], interval?.[0][i], interval?.[1][i]])),
});
