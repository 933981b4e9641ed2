// Single seeds as dots, so that runs of two kinds are seen to be of two kinds.

const LINE = 13; // height of a line of text

// As far aside as the golden ratio says: dots of equal height keep apart, and stay where they are when drawn again.
const aside = (i) => ((i * 0.618034) % 1) - 0.5;

// The names of lines, on as many rows as they need, and the height of the chart in which they fit.
function seedsNames(lines, { width }) {
  const across = Math.min(260, Math.round(0.38 * width));
  return lines.map((line) => wrapped(line.label, across, (row) => broken(row, across)));
}

function seedsFit(chart, lines, size) {
  const rows = Math.max(0, ...seedsNames(lines, size).map((name) => name.length));
  const tall = `${70 + Math.max(36, LINE * rows + 6) * lines.length}px`;
  if (chart.place.style.height === tall) return;
  chart.place.style.height = tall;
  chart.drawn.resize();
}

function seedsOption(lines, { window }, size) {
  const value = (run) => run[PLACE[window]];
  return {
    grid: { left: 12, right: 24, top: 8, bottom: 30, containLabel: true },
    xAxis: axis(`reward, ${WINDOWS[window] === "all" ? "all episodes" : WINDOWS[window]}`, { type: "value", scale: true }),
    yAxis: axis("", {
      type: "category", inverse: true, data: seedsNames(lines, size).map((rows) => rows.join("\n")), axisTick: { show: false },
      axisLabel: { color: theme.colour("text"), lineHeight: LINE, interval: 0 },
    }),
    tooltip: tooltip({ formatter: ({ value: [x, i, seed, frozen] }) => told(lines[i].label, [[lines[i].look.colour, `seed ${seed}${frozen ? ", frozen" : ""}`, number(x)]]) }),
    series: lines.map((line, i) => ({
      type: "scatter", name: line.label, symbolSize: 7, itemStyle: { color: line.look.colour, opacity: line.setting.runs.length > 30 ? 0.4 : 0.8 },
      data: line.setting.runs.map((run, k) => ({ value: [value(run), i, run[0], run[FROZEN]], symbol: run[FROZEN] ? "emptyCircle" : "circle", symbolOffset: [0, line.setting.runs.length > 1 ? Math.round(16 * aside(k)) : 0] })),
    })),
  };
}

const seedsPoints = (lines) => ({
  columns: ["setting", "seed", "first quarter", "last quarter", "all", "frozen"],
  rows: lines.flatMap(({ label, setting }) => setting.runs.map(([seed, first, last, all, frozen]) => [label, seed, first, last, all, frozen])),
});
