// The reader's runs: what there is, and any settings side by side, against one of them.

const PLACE = { first: 1, last: 2, all: 3 }; // of each window in a run's row
const FROZEN = 4;
const [MOST, MOST_LISTED] = [8, 200]; // settings compared unasked, and those to choose from at a time

function runs() {
  const section = el("section", { id: "runs", "aria-labelledby": "runs-title" }, el("h1", { id: "runs-title" }, title()), facts());
  if (data.settings.length) section.append(...compare());
  section.append(index());
  return section;
}

const title = () => `${plural(data.about.runs, "run")} of ${plural(data.about.settings, "setting")}`;

function facts() {
  const about = data.about;
  const days = [...new Set(about.finished.map((time) => time.slice(0, 10)))].join(" to ");
  const parts = [`store ${about.store}`, `${compact(about.episodes)} episodes`, `${duration(about.seconds)} of training`,
    about.frozen ? `${whole(about.frozen)} frozen (a layer stuck, reward at chance)` : null, days && `finished ${days}`];
  const machines = Object.entries(about.engines).map(([name, count]) => `${name} ${whole(count)}`).join(", ");
  const more = [machines && `Runs by engine: ${machines}.`, about.machines.length ? `Machines: ${about.machines.join("; ")}.` : null];
  return el("div", {}, el("p", { class: "faint facts" }, parts.filter(Boolean).join(" · ")), problems(),
    el("details", { class: "more" }, el("summary", {}, "where and when"), el("p", { class: "faint" }, more.filter(Boolean).join(" "))));
}

function problems() {
  const lines = data.about.problems;
  return lines.length ? el("details", { class: "problems" }, el("summary", {}, `${plural(lines.length, "file")} could not be used`),
    el("ul", {}, lines.map((line) => el("li", {}, line)))) : null;
}

function compare() {
  const state = remembered("compare", () => ({ chosen: null, against: null, window: "all", filter: "", band: "sd" }));
  const chosen = () => {
    const settings = inOrder(idsShown(state).map((id) => data.settings.find((one) => one.id === id)).filter(Boolean));
    const [looked, labels] = [looks(settings.map((one) => one.rule)), labelled(settings)];
    return settings.map((one, i) => curve(one, { look: looked[i], label: labels[i], learned: true }));
  };
  const hollow = el("p", { class: "faint" }, "hollow: frozen runs");
  const about = el("p", { class: "faint" });
  const chart = new Chart({
    name: "compare", option: (width) => curvesOption(chosen(), state, width), summary: () => learnedSummary(chosen()), points: () => curvesPoints(chosen()),
    label: () => `Learning curves of ${chosen().map((line) => line.label).join(", ")}`,
  });
  const seeds = new Chart({
    name: "seeds", option: (size) => { seedsFit(seeds, chosen(), size); return seedsOption(chosen(), state, size); }, summary: () => learnedSummary(chosen()), points: () => seedsPoints(chosen()),
    label: () => `The reward of each seed, ${WINDOWS[state.window]}`,
  });
  const place = el("div", { class: "scroll" });
  const show = () => {
    about.textContent = sharedNote(chosen(), state);
    hollow.hidden = !chosen().some(({ setting }) => setting.runs.some((run) => run[FROZEN]));
    for (const one of [chart, seeds]) one.update();
    place.replaceChildren(comparison(chosen(), state, show));
  };
  const controls = el("div", { class: "controls" },
    choice("reward of", WINDOWS, state.window, (value) => { state.window = value; show(); }),
    choice("band", BANDS, state.band, (value) => { state.band = value; show(); }));
  theme.shown.push(show);
  show();
  return [el("div", { class: "card first" }, about, chart.element, controls, picker(state, show)),
    el("div", { class: "card" }, el("h2", {}, "Each seed"), hollow, seeds.element), el("div", { class: "card" }, el("h2", {}, "Side by side"), place)];
}

function sharedNote(lines, state) {
  const counts = [...new Set(lines.map(({ setting }) => setting.runs.length))].sort((a, b) => a - b);
  const mean = lines.some(({ setting }) => setting.learned) ? "mean of the runs that learned, of" : "mean over";
  const seeds = counts.length === 1 && counts[0] === 1 ? "one seed" : `${mean} ${counts.join("/")} seeds`;
  return lines.length ? [shared(lines.map((line) => line.setting)), seeds, hiddenNote(lines.length, state)].filter(Boolean).join(" · ") : "No setting is chosen.";
}

// How many settings are not shown, which are, and where the others are.
function hiddenNote(count, state) {
  const others = data.settings.length - count;
  const why = state.chosen ? "" : `: ${usual().why}`;
  return others ? `${whole(count)} of ${plural(data.settings.length, "setting")}${why}; ${whole(others)} ${others === 1 ? "other" : "others"} under “Choose settings”` : null;
}

// What the reader has chosen or, as long as that is nothing, what is usual: runs that finish later come in.
const idsShown = (state) => state.chosen ?? usual().settings.map((one) => one.id);

// The settings of one task, that with most of them, for tasks pay differently: all while they are few, else the best of
// each rule and then the best of the others. Of what only served to choose, a pack keeps no curve.
function usual() {
  const drawn = data.settings.filter((one) => one.mean.length);
  const tasks = Map.groupBy(drawn.length ? drawn : data.settings, (one) => `${one.words.task} ${one.words.rewards}`);
  const [mine] = [...tasks.values()].sort((a, b) => b.length - a.length);
  if (mine.length <= MOST) return { settings: mine, why: tasks.size > 1 ? "those of one task" : "those with a curve" };
  const best = [...mine].sort((a, b) => b.all[0] - a.all[0]);
  const ofRules = [...Map.groupBy(best, (one) => one.rule).values()].map(([first]) => first);
  const settings = [...new Set([...ofRules, ...best])].slice(0, MOST);
  return { settings, why: `the best by reward over all episodes${tasks.size > 1 ? " of one task" : ""}, one of each rule first` };
}

function picker(state, show) {
  const list = el("div", { class: "picker", role: "group", "aria-label": "Settings to compare" });
  const [count, more] = [el("summary", {}), el("p", { class: "faint" })];
  const tell = () => { count.textContent = `Choose settings: ${idsShown(state).length} of ${whole(data.settings.length)} shown`; };
  const fill = () => {
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (one) => `${ruleName(one.rule)} ${one.rule} ${Object.entries(one.words).map(([name, value]) => `${name}=${value}`).join(" ")}`.toLowerCase();
    const every = inOrder(data.settings.filter((one) => words.every((word) => text(one).includes(word))));
    const fits = every.slice(0, MOST_LISTED);
    const labels = labelled(fits);
    tell();
    more.textContent = every.length > fits.length ? `${fits.length} of ${whole(every.length)} are listed: “Find” narrows them down.` : "";
    list.replaceChildren(...fits.map((one, i) => el("label", {}, el("input", {
      type: "checkbox", checked: idsShown(state).includes(one.id), onchange: ({ target }) => {
        state.chosen = target.checked ? [...idsShown(state), one.id] : idsShown(state).filter((id) => id !== one.id);
        tell();
        show();
      },
    }), ` ${labels[i]}`)));
  };
  const filter = el("input", { type: "search", placeholder: "such as coupling=0.25", value: state.filter, oninput: () => { state.filter = filter.value; fill(); } });
  tell();
  return el("details", { ontoggle: ({ target }) => { if (target.open) fill(); } }, count, el("label", { class: "select" }, "Find", filter), list, more);
}

function comparison(lines, state, show) {
  const values = (runs) => runs.map((run) => run[PLACE[state.window]]);
  const ids = lines.map((line) => line.setting.id);
  const at = Math.max(0, ids.indexOf(state.against));
  const rival = lines[at]?.setting;
  const text = ({ effect, low, high }, write) => write(effect) + (missing(low) ? "" : ` [${write(low)}, ${write(high)}]`);
  const rows = lines.map(({ look, label, setting }) => {
    const cells = [el("span", {}, swatch(look), label), String(setting.runs.length), inTwo(setting.frozen ?? "", /^(.*?) (\[.*)$/), inTwo(setting.cells[state.window], /^(.*?\])(?:; | )(.*)$/)];
    if (setting === rival) return [...cells, "", "", again(setting.command)];
    const learned = [setting, rival].map((one) => values(one.runs.filter((run) => !run[FROZEN])));
    const apart = learned.every((some) => some.length) ? text(difference(...learned), signed) : "–";
    return [...cells, apart, text(improvement(values(setting.runs), values(rival.runs)), number), again(setting.command)];
  });
  const columns = ["setting", "seeds", "frozen", "reward [Student's 95 %]", "difference [Welch's 95 %]", "P(improvement)", "again"];
  const notes = tableNotes(lines).flatMap((note) => [note, el("br")]);
  return el("div", {}, lines.length > 1 ? select("against", lines.map((line) => line.label), at, (i) => { state.against = ids[i]; show(); }) : null,
    el("p", { class: "faint", id: "method" }, `reward: ${data.method}`), table(columns, rows, { class: "stacks" }), ...bestOf(lines.map((line) => line.setting)),
    notes.length ? el("details", { class: "more" }, el("summary", {}, "what the numbers are"), el("p", { class: "faint", id: "notes" }, notes)) : null);
}

// A cell with the second part of its text below the first.
function inTwo(text, parts) {
  const [, first, rest] = text.match(parts) ?? [null, text, null];
  return text && el("span", {}, first, rest ? el("small", {}, rest) : null);
}

// What a reader must know of the table beside its headings.
function tableNotes(lines) {
  const kinds = "difference: of the runs that learned; P(improvement): that a run of the setting beats one of the other, of all runs, with Newcombe's 95 % score interval";
  const said = data.notes.filter((_, i) => lines.some(({ setting }) => setting.notes.includes(i)));
  return [...said, ...(lines.length > 1 ? [kinds] : [])];
}

// Where a rule has several settings on one task, the lead of the best of them is partly luck.
function bestOf(settings) {
  const alike = Map.groupBy(settings, (one) => `${one.rule} ${one.words.task}`);
  const most = Math.max(0, ...[...alike.values()].map((some) => some.length));
  return most > 1 ? [el("p", { class: "faint", id: "best" }, `best of ${most}: judge it on other seeds (coexplore tune)`)] : [];
}

const again = (text) => text ? button("copy the command", () => copy(text), { class: "small", title: text }) : "";

// What else is in the report.
function index() {
  const untold = plural(data.untrained.length, "figure");
  return el("nav", { class: "card index", "aria-label": "Index" }, el("h2", {}, "Also in this report"), el("ul", {},
    data.figures.length ? el("li", {}, el("a", { href: "#figures" }, `${plural(data.figures.length, "figure")}`), ": the paper's and ours, each on a page of its own") : null,
    data.claims.length ? el("li", {}, el("a", { href: "#claims" }, `${plural(data.claims.length, "claim")}`), `: ${counted(data.claims)}`) : null,
    data.inside.length ? el("li", {}, el("a", { href: "#inside" }, "Inside a run"), ": firing rates, weights, energy") : null),
    data.untrained.length ? el("details", {}, el("summary", {}, `${untold} of the paper and ours could be trained`),
      el("ul", {}, data.untrained.map((one) => el("li", {}, `${one.title} `, command(one.command))))) : null);
}
