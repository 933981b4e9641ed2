// A look inside one run: firing rates, weights and critic while it learned; W_rec and the energy in the end.

function inside() {
  const state = remembered("inside", () => ({ run: 0, input: 0, layer: 0 }));
  state.run = Math.min(state.run, data.inside.length - 1);
  const [place, layers] = [el("div", { class: "pair" }), el("span", {})];
  let mine = [];
  const show = () => {
    for (const chart of mine) chart.remove();
    const look = data.inside[state.run];
    const names = layersOf(look);
    state.layer = Math.min(state.layer, Math.max(0, names.length - 1));
    layers.replaceChildren(...names.length > 1 ? [select("layer", names, state.layer, (value) => { state.layer = value; show(); })] : []);
    mine = lookCharts(look, names[state.layer], state, show);
    place.replaceChildren(...mine.map((chart) => chart.element));
  };
  show();
  return el("section", { id: "inside", "aria-labelledby": "inside-title" }, el("h1", { id: "inside-title" }, "Inside a run"), insideNote(),
    el("div", { class: "controls" }, select("run", insideNames(), state.run, (value) => { state.run = value; show(); }), layers), place);
}

function insideNames() {
  const settings = data.inside.map((one) => data.settings[one.setting]);
  const rule = shared(settings);
  return labelled(settings).map((label, i) => `${rule && label !== rule ? `${rule}, ` : ""}${label}, seed ${data.inside[i].seed}`);
}

const insideNote = () => data.inside.length < data.settings.length ? el("p", { class: "faint" },
  `One run of ${whole(data.inside.length)} of ${plural(data.settings.length, "setting")}: of those that kept parameters and snapshots the best, one of each rule and task first. A report of fewer settings has others: coexplore report --select.`) : null;

const layersOf = (look) => [...new Set([...Object.keys(look.firing).map((name) => name.split(".")[1]), ...Object.keys(look.W_rec)])].sort();

function lookCharts(look, layer, state, again) {
  const [times, firing, W_rec] = [look.episodes.map(compact), look.firing[`firing.${layer}`], look.W_rec[layer]];
  const which = layersOf(look).length > 1 ? `, layer ${layer}` : "";
  const rule = data.settings[look.setting].rule.split("+")[0];
  const made = firing ? [heat("firing", `How often each unit fires${which}`, firing, { x: "episodes", y: "unit", names: times })] : [];
  made.push(linesChart("weights", "Size of the parameters", "norm, on a logarithmic scale", look.norms, look.episodes, { rule, log: true }));
  if (look.critic_error) made.push(linesChart("critic", "Error of the critic, R − V", "root mean square", { "critic error": look.critic_error }, look.episodes, { rule: "critic" }));
  if (W_rec?.flat().some((w) => w)) made.push(heat("W_rec", `W_rec after learning${which}`, W_rec, { x: "to unit", y: "from unit", names: W_rec.map((_, i) => String(i)), diverging: true }));
  if (look.energy && layer === "0") made.push(energyChart(look.energy, rule, state, again));
  return made;
}

const heat = (name, title, rows, about) => new Chart({
  name, title, tall: true, option: (size) => heatOption(rows, about, size), summary: () => heatSummary(rows, about.y),
  points: () => heatPoints(rows, about.x, about.y, about.names), label: () => title,
});

// Several lines over the training, each by its name. Parts of the network are shades of its rule's colour; the output's and
// the critic's are others.
function linesChart(name, title, unit, lines, x, { rule, log = false }) {
  const names = Object.keys(lines).filter((each) => !log || lines[each].some((y) => y > 0));
  const part = (each) => /^critic/.test(each) ? "critic" : rule;
  const drawn = () => looks(names.map(part));
  const logged = (values) => log ? values.map((y) => y > 0 ? y : null) : values; // a logarithm has no place for zero
  return new Chart({
    name, title,
    option: (size) => {
      const all = names.map((each, i) => ({ label: each, look: drawn()[i], x, mean: logged(lines[each]) }));
      const named = naming(all.length > 1 ? all : [], ({ mean: y }) => [x.at(-1), y.at(-1) ?? y.findLast((value) => value)], size);
      return {
        names: named, grid: grid(named.right),
        xAxis: axis("episodes", { type: "value", max: x.at(-1), splitNumber: few(size), axisLabel: { formatter: compact, color: theme.colour("faint"), hideOverlap: true } }),
        yAxis: upright(unit, { type: log ? "log" : "value", axisLabel: { color: theme.colour("faint"), hideOverlap: true, formatter: compact } }),
        tooltip: tooltip({ trigger: "axis", formatter: (items) => told(`${whole(items[0].axisValue)} episodes`, items.map((one) => [one.color, one.seriesName, point(one.value[1])])) }),
        series: all.map(lineSeries),
      };
    },
    summary: () => ({ columns: ["", "at the start", "in the end"], rows: names.map((each) => [each, point(lines[each][0]), point(lines[each].at(-1))]) }),
    points: () => ({ columns: ["name", "episodes", "value"], rows: names.flatMap((each) => x.map((at, i) => [each, at, lines[each][i]])) }),
    label: () => title,
  });
}

const WHEN = { before: "before learning", after: "after learning" };

// The mean over draws with its spread, and single draws, of one input before and after learning.
function energyChart(energy, rule, state, again) {
  const title = "Energy along the sampling steps";
  const found = Object.keys(WHEN).map((when) => ({ when, ...energy[when][state.input] }));
  const steps = found[0].mean.map((_, t) => t);
  const lines = () => found.map((one, i) => ({ ...one, label: WHEN[one.when], look: { ...looks([rule, rule])[i], dash: "solid" }, x: steps }));
  const single = ({ paths, look }) => paths.map((path) => ({ type: "line", data: path.map((e, t) => [t, e]), symbol: "none", silent: true, lineStyle: { color: look.colour, width: 1, type: "dotted" } }));
  const hint = (t) => told(`step ${t}`, lines().map((line) => [line.look.colour, line.label, `${point(line.mean[t])} ± ${point(line.sd[t])}`]));
  const chart = new Chart({
    name: "energy", title,
    option: (size) => {
      const named = naming(lines(), ({ mean: y }) => [steps.length - 1, y.at(-1)], size);
      return {
        names: named, grid: grid(named.right),
        xAxis: axis("sampling step t", { type: "value", max: steps.length - 1 }), yAxis: upright("E(h), mean ± sd of 64 draws, and single draws", { scale: true }),
        tooltip: tooltip({ trigger: "axis", formatter: (items) => hint(items[0].axisValue) }),
        series: lines().flatMap((line) => [...bandSeries(line, spread(line.mean, line.sd)), ...single(line), lineSeries(line)]),
      };
    },
    summary: () => ({ columns: ["step", ...found.flatMap(({ when }) => [`mean ${when}`, `sd ${when}`])], rows: steps.map((t) => [String(t), ...found.flatMap(({ mean, sd }) => [point(mean[t]), point(sd[t])])]) }),
    points: () => ({ columns: ["step", "learning", "mean", "sd", "path 1", "path 2", "path 3"], rows: found.flatMap(({ when, mean, sd, paths }) => steps.map((t) => [t, when, mean[t], sd[t], ...paths.map((path) => path[t])])) }),
    label: () => `${title}, ${lines().map((line) => `${line.label} from ${point(line.mean[0])} to ${point(line.mean.at(-1))}`).join(", ")}, input ${energy.inputs[state.input]}`,
  });
  chart.element.firstChild.after(select("input", energy.inputs, state.input, (value) => { state.input = value; again(); }));
  return chart;
}
