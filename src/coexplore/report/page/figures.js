// The paper's figures, each a card whose chart follows its controls.

const BY_KIND = { bars: (figure) => letter(figure.axis), sweep: (figure) => letter(figure.axis) };

function figures() {
  const cards = data.figures.map(figureCard);
  return el("section", { id: "figures", "aria-labelledby": "figures-title" }, el("h2", { id: "figures-title" }, "Figures"),
    cards.length ? cards : el("p", {}, "Nothing of the paper's figures has been trained yet."), untrained());
}

function untrained() {
  return data.untrained.length ? el("details", {}, el("summary", {}, `${data.untrained.length} figures are not there, or less than half`),
    el("ul", {}, data.untrained.map((one) => el("li", {}, `${one.title} `, command(one.command))))) : null;
}

function figureCard(figure) {
  const state = remembered(figure.name, () => ({ hidden: new Set(), band: "sd", window: figure.window, size: 0 }));
  const places = figure.kind in BY_KIND;
  const sizes = figure.kind === "sweep" && figure.ordered > 1;
  const all = () => figureLines(figure);
  const lines = () => all().filter((line, i) => !state.hidden.has(line.label) && (!sizes || !state.size || state.size - 1 === i));
  const options = { curves: curvesOption, compute: curvesOption, bars: barsOption, sweep: sweepOption };
  const chart = new Chart({
    name: figure.name,
    option: () => options[figure.kind](lines(), { ...state, compute: figure.kind === "compute", axis: figure.axis }),
    summary: () => places ? placesSummary(lines(), BY_KIND[figure.kind](figure)) : curvesSummary(lines()),
    points: () => places ? placesPoints(lines(), BY_KIND[figure.kind](figure)) : curvesPoints(lines(), figure.kind === "compute"),
    label: () => `${figure.title}: ${lines().map((line) => line.label).join(", ")}`,
  });
  const change = (name) => (value) => { state[name] = value; chart.update(); };
  const windows = figure.kind === "compute" ? null : choice(places ? "reward of" : "show", WINDOWS, state.window, change("window"));
  const names = ["all", ...figure.lines.map((line) => line.label)];
  return el("article", { class: "card", id: figure.name },
    el("h3", {}, figure.title), el("p", { class: "faint" }, figureNote(figure)),
    el("div", { class: "controls" }, choice("band", BANDS, state.band, change("band")), windows,
      sizes ? slider("size", names, state.size, change("size")) : null),
    chart.element, relegend(() => legend(all(), state.hidden, () => chart.update())), claimLinks(figure), command(figure.command));
}

// The legend has colours of the theme.
function relegend(make) {
  const holder = el("div", {}, make());
  theme.shown.push(() => holder.replaceChildren(make()));
  return holder;
}

function figureLines(figure) {
  const looked = looks(figure.lines.map((line) => line.rule), figure.ordered);
  return figure.lines.map((line, i) => {
    const look = looked[i];
    if (figure.kind in BY_KIND) return { ...line, look, i };
    return curve(data.settings[line.places[0][1]], { label: line.label, look, compute: figure.kind === "compute" });
  });
}

function figureNote(figure) {
  const seeds = figure.seeds.join("/");
  const absent = figure.missing ? ` · ${figure.missing} of its places not trained` : "";
  const length = figure.episodes ? ` · ${whole(figure.episodes)} episodes` : "";
  return `mean over ${seeds} ${seeds === "1" ? "seed" : "seeds"}${length}${absent}`;
}

function claimLinks(figure) {
  const about = data.claims.filter((one) => one.figure === figure.name);
  return about.length ? el("p", { class: "links" }, "Claims: ", about.flatMap((one) => [
    el("a", { href: `#claim-${one.id}`, class: `verdict ${one.verdict.replace(" ", "-")}`, title: one.claim }, `${one.id} ${one.verdict}`), " "])) : null;
}
