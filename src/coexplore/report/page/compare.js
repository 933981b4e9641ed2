// Any settings side by side, against one of them.

const PLACE = { first: 1, last: 2, all: 3 }; // of each window in a run's row

function compare() {
  const state = remembered("compare", () => ({ chosen: usual(), against: null, window: "all", filter: "", band: "interval", hidden: new Set() }));
  const section = el("section", { id: "compare", "aria-labelledby": "compare-title" }, el("h2", { id: "compare-title" }, "Compare"));
  if (!data.settings.length) return section;
  const chosen = () => {
    const settings = state.chosen.map(settingOf).filter(Boolean);
    const looked = looks(settings.map((one) => one.rule));
    return settings.map((one, i) => curve(one, { look: looked[i] }));
  };
  const chart = new Chart({
    name: "compare", option: () => curvesOption(chosen(), state), summary: () => curvesSummary(chosen()), points: () => curvesPoints(chosen()),
    label: () => `Learning curves of ${state.chosen.join(", ")}`,
  });
  const place = el("div", { class: "scroll" });
  const show = () => { chart.update(); place.replaceChildren(comparison(chosen(), state, show)); };
  const controls = el("div", { class: "controls" },
    choice("reward of", WINDOWS, state.window, (value) => { state.window = value; show(); }),
    choice("band", BANDS, state.band, (value) => { state.band = value; show(); }));
  theme.shown.push(show);
  section.append(picker(state, show), el("div", { class: "card" }, controls, chart.element, place));
  show();
  return section;
}

// What the rewards of both lie within, if that is known.
const outer = (a, b) => a && b && [Math.min(a[0], b[0]), Math.max(a[1], b[1])];

const settingOf = (label) => data.settings.find((one) => one.label === label);

function usual() {
  const headline = data.figures.find((figure) => figure.name === "headline") ?? data.figures[0];
  const labels = headline ? headline.lines.map((line) => data.settings[line.places[0][1]].label) : [];
  return [...new Set(labels)].slice(0, 6);
}

function picker(state, show) {
  const list = el("div", { class: "picker", role: "group", "aria-label": "Settings to compare" });
  const count = el("span", { class: "faint" });
  const fill = () => {
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = data.settings.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
    fits.sort((a, b) => a.label.localeCompare(b.label, "en", { numeric: true }));
    count.textContent = `${fits.length} of ${data.settings.length} settings, ${state.chosen.length} chosen`;
    list.replaceChildren(...fits.slice(0, 200).map(({ label }) => el("label", {}, el("input", {
      type: "checkbox", checked: state.chosen.includes(label), onchange: ({ target }) => {
        state.chosen = target.checked ? [...state.chosen, label] : state.chosen.filter((one) => one !== label);
        count.textContent = `${fits.length} of ${data.settings.length} settings, ${state.chosen.length} chosen`;
        show();
      },
    }), label)));
  };
  fill();
  const filter = el("input", { type: "search", placeholder: "such as boltzmann coupling=0.25", value: state.filter, oninput: () => { state.filter = filter.value; fill(); } });
  return el("div", { class: "card" }, el("label", { class: "select" }, "Find settings", filter), count, list);
}

function comparison(lines, state, show) {
  const values = (line) => line.setting.runs.map((run) => run[PLACE[state.window]]);
  const labels = lines.map((line) => line.label);
  const against = labels.includes(state.against) ? state.against : labels[0];
  const rival = lines.find((line) => line.label === against);
  const text = ({ effect, low, high }, write) => write(effect) + (missing(low) ? "" : ` [${write(low)}, ${write(high)}]`);
  const rows = lines.map((line) => {
    const [mine, theirs, bounds] = [values(line), values(rival), outer(line.setting.bounds, rival.setting.bounds)];
    const same = line === rival;
    return [el("span", {}, swatch(line.look), line.label), String(mine.length), text(level(mine, bounds), number),
      same ? "" : text(difference(mine, theirs, bounds), signed), same ? "" : text(improvement(mine, theirs), number), command(line.setting.command)];
  });
  const columns = ["setting", "seeds", "reward [95 %]", `difference from ${against ?? "–"}`, "probability of improvement", "again"];
  return el("div", {}, select("against", labels, Math.max(0, labels.indexOf(against)), (i) => { state.against = labels[i]; show(); }),
    table(columns, rows, { class: "stacks" }),
    el("p", { class: "faint" }, "Intervals at 95 % over seeds: Gaffke's, which stay within what a reward can be, or, where nobody knows that, Student's and Welch's; for the probability that a run of the setting beats one of the other, Newcombe's score interval."));
}
