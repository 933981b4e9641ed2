// Bars over the number of units, and what bars and sweeps share: places with numbers and error bars.

// The numbers of one window at one place, and how far the error bar reaches.
function numbersAt(place, window, band) {
  const [mean, sd, low, high] = place[2][window];
  if (band === "none" || missing(sd)) return { mean, low: mean, high: mean };
  const end = (side) => within(mean + side * sd, mean, settingAt(place).possible);
  return band === "sd" ? { mean, low: end(-1), high: end(1) } : { mean, low, high };
}

const ticksOf = (lines) => [...new Set(lines.flatMap((line) => line.places.map((place) => place[0])))].sort((a, b) => a - b);

// Error bars are drawn by hand in ECharts, and dots instead of them where seeds come out in two kinds; `at` says where on
// the horizontal axis a place is, `wide` how far dots lie apart in pixels, `shift` how many pixels beside it all stands.
const errorSeries = (line, { window, band }, at, wide, shift = () => 0) => ({
  type: "custom", silent: true, tooltip: { show: false }, z: 5, encode: { x: 0, y: [1, 2] },
  data: line.places.map((place) => {
    const { low, high } = numbersAt(place, window, band);
    return [at(place[0]), low, high];
  }),
  renderItem: ({ dataIndex }, api) => {
    const x = api.coord([api.value(0), 0])[0] + shift(api);
    const y = (value) => api.coord([api.value(0), value])[1];
    const dots = band === "none" ? null : line.places[dataIndex][4]?.[window];
    if (dots) return { type: "group", children: dots.map((value, i) => dot(x + wide * aside(i), y(value), mixed(line.look.colour, theme.colour("text"), 0.45))) };
    const [low, high] = [y(api.value(1)), y(api.value(2))];
    return { type: "group", children: low === high ? [] : [stroke(x, low, x, high), stroke(x - 3, low, x + 3, low), stroke(x - 3, high, x + 3, high)] };
  },
});

const stroke = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: theme.colour("text"), lineWidth: 1 } });
const dot = (cx, cy, fill) => ({ type: "circle", shape: { cx, cy, r: 1.6 }, style: { fill, opacity: 0.6 } });

const letter = (axis) => axis.split(",")[0];

function barsOption(lines, state) {
  const ticks = ticksOf(lines);
  const gaps = { barGap: "8%", barCategoryGap: "18%" };
  const centre = (i) => (api) => api.barLayout({ ...gaps, count: lines.length })[i].offsetCenter;
  const bar = (line) => ({
    type: "bar", name: line.label, ...gaps, itemStyle: { color: line.look.colour, decal: decal(line.i) },
    data: ticks.map((x) => {
      const place = line.places.find((one) => one[0] === x);
      return place ? numbersAt(place, state.window, "none").mean : null;
    }),
  });
  const at = (x) => ticks.indexOf(x);
  return {
    xAxis: axis(state.axis, { type: "category", data: ticks.map(String) }),
    yAxis: rewardAxis({ scale: false }),
    tooltip: tooltip({ trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items) => placeHint(letter(state.axis), ticks[items[0].dataIndex], lines, state) }),
    series: [...lines.map(bar), ...lines.map((line, i) => errorSeries(line, state, at, 12, centre(i)))],
  };
}

const decal = (i) => [
  undefined, { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: Math.PI / 4 },
  { symbol: "circle", dashArrayX: [[6, 6], [0, 6, 6, 0]], dashArrayY: [4, 4], symbolSize: 0.5 },
  { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: -Math.PI / 4 },
  { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [3, 3] },
].map((one) => one && { ...one, color: "rgba(255,255,255,0.35)" })[i % 5];

function placeHint(letter, x, lines, { window, band }) {
  const rows = lines.flatMap((line) => line.places.filter((place) => place[0] === x || line.places.length === 1).map((place) => {
    const { mean, low, high } = numbersAt(place, window, band);
    const spread = band === "none" || missing(low) || low === high ? "" : ` [${number(low)}, ${number(high)}]`;
    return [line.look.colour, place[3] ? `${line.label}, ${place[3]}` : line.label, number(mean) + spread];
  }));
  return told(`${letter} = ${x}`, rows);
}

const placesSummary = (lines, letter) => ({
  columns: ["line", letter, "chosen", "first quarter [bounded 95 %]", "last quarter", "all"],
  rows: lines.flatMap((line) => line.places.map((place) => [line.label, String(place[0]), place[3],
    ...["first", "last", "all"].map((window) => withInterval(place[2][window]))])),
});

const placesPoints = (lines, letter) => ({
  columns: ["line", letter, "chosen", "window", "mean", "sd", "low", "high"],
  rows: lines.flatMap((line) => line.places.flatMap((place) =>
    ["first", "last", "all"].map((window) => [line.label, place[0], place[3], window, ...place[2][window]]))),
});
