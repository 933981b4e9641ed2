// Heat maps: a square of numbers, one colour each.

const DIVERGING = { light: ["#2166ac", "#92c5de", "#f7f7f7", "#f4a582", "#b2182b"], dark: ["#67a9ff", "#2b5c94", "#1c1f24", "#8f4a2c", "#ff9a6c"] };

// rows [Y][X]; `diverging` puts the middle colour at zero.
function heatOption(rows, { x, y, names, diverging = false }, { width }) {
  const most = diverging ? Math.max(0.001, ...rows.map((row) => Math.max(...row.map(Math.abs)))) : 1;
  const colours = diverging ? DIVERGING[theme.dark ? "dark" : "light"] : theme.dark ? VIRIDIS : [...VIRIDIS].reverse();
  return {
    grid: grid(74),
    xAxis: axis(x, { type: "category", data: names, splitLine: { show: false }, axisLabel: every(names.length, width / 90) }),
    yAxis: upright(y, { type: "category", data: rows.map((_, i) => String(i)), inverse: true, nameLocation: "start", splitLine: { show: false }, axisLabel: every(rows.length, 12) }),
    visualMap: {
      min: diverging ? -most : 0, max: most, calculable: false, orient: "vertical", right: 0, top: "middle", itemHeight: 140, itemWidth: 14, align: "left",
      inRange: { color: colours }, textStyle: { color: theme.colour("faint") }, precision: 2, text: diverging ? [number(most), number(-most)] : ["1", "0"],
    },
    tooltip: tooltip({ formatter: ({ data: [i, j, value] }) => told(`${y} ${j}, ${x} ${names[i]}`, [["transparent", "", number(value)]]) }),
    series: [{ type: "heatmap", data: rows.flatMap((row, j) => row.map((value, i) => [i, j, value])), progressive: 0 }],
  };
}

// So many labels of an axis, the same number of cells apart.
const every = (count, most) => ({ color: theme.colour("faint"), interval: Math.ceil(count / Math.max(2, Math.floor(most))) - 1 });

const heatPoints = (rows, x, y, names) => ({
  columns: [y, x, "value"], rows: rows.flatMap((row, j) => row.map((value, i) => [j, names[i], value])),
});

// A thousand cells are no text alternative: their least, middle and greatest are.
const heatSummary = (rows, y) => ({
  columns: [y, "least", "mean", "greatest"],
  rows: rows.map((row, j) => [String(j), number(Math.min(...row)), number(row.reduce((a, b) => a + b, 0) / row.length), number(Math.max(...row))]),
});
