// A look inside one run: firing rates, weights and critic while it learned; W_rec and the energy in the end.

function inside() {
  if (!data.inside.length) return el("section", { id: "inside" }, el("h2", {}, "Inside a run"),
    el("p", {}, "No run here has parameters and snapshots: a store has them, a pack those of one seed per setting."));
  const state = remembered("inside", () => ({ run: 0, input: 0 }));
  state.run = Math.min(state.run, data.inside.length - 1);
  const place = el("div", { class: "pair" });
  let mine = [];
  const show = () => {
    for (const chart of mine) chart.remove();
    mine = lookCharts(data.inside[state.run], state, show);
    place.replaceChildren(...mine.map((chart) => chart.element));
  };
  show();
  const names = data.inside.map((one) => one.label);
  return el("section", { id: "inside", "aria-labelledby": "inside-title" }, el("h2", { id: "inside-title" }, "Inside a run"),
    el("div", { class: "controls" }, select("run", names, state.run, (value) => { state.run = value; show(); })), place);
}

function lookCharts(look, state, again) {
  const times = look.episodes.map(compact);
  const made = Object.entries(look.firing).map(([name, rows]) => heat(`${name}-rates`, `How often each unit fires, layer ${name.split(".")[1]}`, rows, { x: "episodes", y: "unit", names: times }));
  made.push(linesChart("weights", "Size of the parameters", "norm", look.norms, look.episodes));
  if (look.critic_error) made.push(linesChart("critic", "Error of the critic, R − V", "root mean square", { "critic error": look.critic_error }, look.episodes));
  for (const [layer, rows] of Object.entries(look.W_rec)) {
    made.push(heat(`W_rec-${layer}`, `W_rec after learning, layer ${layer}`, rows, { x: "to unit", y: "from unit", names: rows.map((_, i) => String(i)), diverging: true }));
  }
  if (look.energy) made.push(...["before", "after"].map((when) => energyChart(look.energy, when, state, again)));
  return made;
}

const heat = (name, title, rows, about) => new Chart({
  name, title, tall: true, option: () => heatOption(rows, about), summary: () => heatSummary(rows, about.y),
  points: () => heatPoints(rows, about.x, about.y, about.names), label: () => title,
});

// Several lines over the training, each by its name.
function linesChart(name, title, unit, lines, x) {
  const names = Object.keys(lines);
  const drawn = () => looks(names);
  return new Chart({
    name, title,
    option: () => ({
      xAxis: axis("episodes", { type: "value", max: x.at(-1), axisLabel: { formatter: compact, color: theme.colour("faint"), hideOverlap: true } }),
      yAxis: axis(unit, { type: "value", nameGap: 40 }),
      legend: { type: "scroll", textStyle: { color: theme.colour("text") }, top: 0, show: names.length > 1 },
      grid: { left: 30, right: 18, top: names.length > 1 ? 34 : 18, bottom: 30, containLabel: true },
      tooltip: tooltip({ trigger: "axis", formatter: (items) => told(`${whole(items[0].axisValue)} episodes`, items.map((one) => [one.color, one.seriesName, number(one.value[1])])) }),
      series: names.map((each, i) => lineSeries({ label: each, look: drawn()[i], x, mean: lines[each] })),
    }),
    summary: () => ({ columns: ["", "at the start", "in the end"], rows: names.map((each) => [each, number(lines[each][0]), number(lines[each].at(-1))]) }),
    points: () => ({ columns: ["name", "episodes", unit], rows: names.flatMap((each) => x.map((at, i) => [each, at, lines[each][i]])) }),
    label: () => title,
  });
}

function energyChart(energy, when, state, again) {
  const { mean, sd, paths } = energy[when][state.input];
  const title = `Energy along the sampling steps, ${when} learning`;
  const steps = mean.map((_, t) => t);
  const look = data.palette.rules[when === "before" ? "map-prop" : "recurrent"];
  const colour = () => theme.dark ? look.dark : look.colour;
  const line = () => ({ label: "mean of 64 draws", look: { colour: colour(), dash: "solid", symbol: "circle" }, x: steps, mean });
  const chart = new Chart({
    name: `energy-${when}`, title,
    option: () => ({
      xAxis: axis("sampling step t", { type: "value", max: steps.length - 1 }), yAxis: axis("E(h)", { type: "value", scale: true, nameGap: 44 }),
      tooltip: tooltip({ trigger: "axis", formatter: (items) => told(`step ${items[0].axisValue}`, [[colour(), "mean ± sd", `${number(mean[items[0].axisValue])} ± ${number(sd[items[0].axisValue])}`]]) }),
      series: [...bandSeries(line(), spread(mean, sd)), lineSeries(line()), ...paths.map((path, i) => ({
        type: "line", name: `single path ${i + 1}`, data: path.map((e, t) => [t, e]), symbol: "none",
        lineStyle: { color: theme.colour("faint"), width: 1, type: DASHES[i % 4] },
      }))],
    }),
    summary: () => ({ columns: ["step", "mean", "sd"], rows: steps.map((t) => [String(t), number(mean[t]), number(sd[t])]) }),
    points: () => ({ columns: ["step", "mean", "sd", ...paths.map((_, i) => `path ${i + 1}`)], rows: steps.map((t) => [t, mean[t], sd[t], ...paths.map((path) => path[t])]) }),
    label: () => `${title}, from ${number(mean[0])} to ${number(mean.at(-1))}, input ${energy.inputs[state.input]}`,
  });
  chart.element.firstChild.after(select("input", energy.inputs, state.input, (value) => { state.input = value; again(); }));
  return chart;
}
