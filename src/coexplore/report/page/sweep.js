// Reward against a setting: a line for each size or rule; what has one place only is a level right across.

function sweepOption(lines, state) {
  const ticks = ticksOf(lines.filter((line) => line.places.length > 1).length ? lines.filter((line) => line.places.length > 1) : lines);
  const series = (line) => ({
    type: "line", name: line.label, symbol: line.look.symbol, symbolSize: 8, showAllSymbol: true, connectNulls: true,
    lineStyle: { color: line.look.colour, type: line.look.dash, width: 2 }, itemStyle: { color: line.look.colour },
    showSymbol: line.places.length > 1,
    data: ticks.map((x) => {
      const place = line.places.length > 1 ? line.places.find((one) => one[0] === x) : line.places[0];
      return place ? numbersAt(place, state.window, "none").mean : null;
    }),
  });
  const several = lines.filter((line) => line.places.length > 1);
  return {
    xAxis: axis(state.axis, { type: "category", data: ticks.map(String) }), // evenly apart: the small ones matter
    yAxis: rewardAxis(),
    tooltip: tooltip({ trigger: "axis", formatter: (items) => placeHint(letter(state.axis), ticks[items[0].dataIndex], lines, state) }),
    series: [...lines.map(series), ...several.map((line) => errorSeries(line, ticks, state, () => 0))],
  };
}
