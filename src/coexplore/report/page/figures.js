// The figures: an index, and each on a view of its own, where its chart follows its controls.

const OPTIONS = { curves: curvesOption, compute: curvesOption, bars: barsOption, sweep: sweepOption, levels: sweepOption };

function figures() {
  const groups = Map.groupBy(data.figures, (figure) => figure.group);
  return el("section", { id: "figures", "aria-labelledby": "figures-title" }, el("h1", { id: "figures-title" }, "Figures"), unmixedNote(),
    [...groups].map(([name, mine]) => el("nav", { class: "card index", "aria-label": name }, el("h2", {}, name),
      el("ul", {}, mine.map((figure) => el("li", {}, el("a", { href: `#${figure.name}` }, figure.title)))))));
}

function figureView(figure) {
  const at = data.figures.indexOf(figure);
  const beside = (other, words) => other ? el("a", { href: `#${other.name}` }, words) : el("span", {});
  return el("section", { "aria-labelledby": "figure-title" },
    el("nav", { class: "beside", "aria-label": "Figures beside this one" }, beside(data.figures[at - 1], "‹ before"), el("a", { href: "#figures" }, "all figures"), beside(data.figures[at + 1], "next ›")),
    figureCard(figure));
}

function figureCard(figure) {
  const state = remembered(figure.name, () => ({ hidden: new Set(), band: figure.kind === "levels" ? "interval" : "sd", window: figure.window, size: 0 }));
  const places = !["curves", "compute"].includes(figure.kind);
  const sizes = figure.kind === "sweep" && figure.ordered > 1;
  const all = () => figureLines(figure, places);
  const lines = () => all().filter((line, i) => !state.hidden.has(line.label) && (!sizes || !state.size || state.size - 1 === i));
  const compute = figure.kind === "compute";
  const chart = new Chart({
    name: figure.name,
    option: (width) => OPTIONS[figure.kind](lines(), { ...state, compute, axis: figure.axis, kind: figure.kind }, width),
    summary: () => places ? placesSummary(lines(), letter(figure.axis)) : curvesSummary(lines()),
    points: () => places ? placesPoints(lines(), letter(figure.axis)) : curvesPoints(lines(), compute),
    label: () => `${figure.title}: ${lines().map((line) => line.label).join(", ")}`,
  });
  const change = (name) => (value) => { state[name] = value; chart.update(); };
  const windows = compute ? null : choice(places ? "reward of" : "show", WINDOWS, state.window, change("window"));
  const names = ["all", ...figure.lines.map((line) => line.label)];
  const dots = figure.lines.some((line) => line.places.some((place) => Object.keys(place[4] ?? {}).length));
  return el("article", { class: "card", id: figure.name },
    el("h1", { id: "figure-title" }, figure.title), el("p", { class: "faint" }, figureNote(figure) + (places && dots ? " · dots: single seeds, where they come out in two kinds" : "")),
    unmixedNote(), chart.element, relegend(() => legend(all(), state.hidden, () => chart.update())),
    el("div", { class: "controls" }, choice("band", FIGURE_BANDS, state.band, change("band")), windows,
      sizes ? slider("only", names, state.size, change("size")) : null), claimLinks(figure), command(figure.command));
}

// The legend has colours of the theme.
function relegend(make) {
  const holder = el("div", {}, make());
  theme.shown.push(() => holder.replaceChildren(make()));
  return holder;
}

function figureLines(figure, places) {
  const looked = looks(figure.lines.map((line) => line.rule));
  return figure.lines.map((line, i) => {
    const look = looked[i];
    return places ? { ...line, look, i } : curve(settingAt(line.places[0]), { label: line.label, look, compute: figure.kind === "compute" });
  });
}

// Of the reader's runs all are under Runs.
const unmixedNote = () => data.about.left_out ? el("p", { class: "faint", id: "figures-note" },
  `Figures and claims leave out ${plural(data.about.left_out, "run")}: they never mix seeds below 1000 with those from 1000 on, and take the kind of which there are more.`) : null;

// The setting of a place, with the runs that the figure shows.
const settingAt = (place) => data.settings[place[1]] ?? data.of_figures[place[1] - data.settings.length];

function figureNote(figure) {
  const seeds = figure.seeds.join("/");
  const absent = figure.missing ? ` · ${figure.missing} of its places not trained` : "";
  const length = figure.episodes ? ` · ${whole(figure.episodes)} episodes` : "";
  const frozen = data.about.frozen ? ", frozen runs too" : "";
  return `mean over ${seeds} ${seeds === "1" ? "seed" : "seeds"}${frozen}${length}${absent}`;
}

function claimLinks(figure) {
  const about = data.claims.filter((one) => one.figure === figure.of);
  return about.length ? el("p", { class: "links" }, "Claims: ", about.flatMap((one) => [
    el("a", { href: `#claim-${one.id}`, class: `verdict ${one.verdict.replace(" ", "-")}`, title: one.claim }, `${one.id} ${one.verdict}`), " "])) : null;
}
