// Reward against a setting: a line for each size or rule, a little beside one another. Of a sweep what has one place only
// is a level right across.

function sweepOption(lines, state, size) {
  const several = lines.filter((line) => line.places.length > 1);
  const ticks = ticksOf(several.length ? several : lines);
  const across = (line) => state.kind === "sweep" && line.places.length === 1 && several.length > 0;
  const gap = Math.min(0.06, 0.5 / lines.length);
  const at = (line) => (x) => ticks.indexOf(x) + gap * (lines.indexOf(line) - (lines.length - 1) / 2);
  const points = (line) => across(line) ? [-0.5, ticks.length - 0.5].map((x) => [x, mid(line.places[0])]) : line.places.map((place) => [at(line)(place[0]), mid(place)]);
  const mid = (place) => place[2][state.window][0];
  const names = naming(lines, (line) => points(line).at(-1), size);
  const series = (line) => ({
    type: "line", name: line.label, symbol: line.look.symbol, symbolSize: 8, showAllSymbol: true, showSymbol: !across(line),
    lineStyle: { color: line.look.colour, type: line.look.dash, width: 2 }, itemStyle: { color: line.look.colour },
    data: points(line),
  });
  return {
    names, grid: grid(names.right),
    xAxis: steps(state.axis, ticks), // evenly apart: the small ones matter
    yAxis: rewardAxis(),
    tooltip: tooltip({ trigger: "axis", formatter: (items) => placeHint(letter(state.axis), ticks[Math.round(items[0].axisValue)], lines, state) }),
    series: [...lines.map(series), ...lines.filter((line) => !across(line)).map((line) => errorSeries(line, state, at(line), 5))],
  };
}
