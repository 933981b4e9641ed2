// What was run, and what became of the paper's claims.

const WORDS = ["holds", "fails", "undecided", "not run"];

function overview() {
  return el("section", { id: "overview", "aria-labelledby": "overview-title" },
    el("h1", { id: "overview-title" }, "Structural credit assignment with coordinated exploration"),
    facts(), problems(), verdicts());
}

function facts() {
  const about = data.about;
  const engines = Object.entries(about.engines).map(([name, count]) => `${name} ${whole(count)}`).join(", ");
  const shown = [
    ["runs", whole(about.runs), `${whole(about.settings)} settings`],
    ["episodes", compact(about.episodes), "in all"],
    ["training time", duration(about.seconds), "of all runs added up"],
    ["frozen", whole(about.frozen), "a layer stuck, reward at chance"],
  ];
  const finished = about.finished.length ? `, finished ${about.finished.map((time) => time.slice(0, 10)).filter((day, i, all) => all.indexOf(day) === i).join(" to ")}` : "";
  return el("div", {},
    el("div", { class: "facts" }, shown.map(([name, value, note]) =>
      el("div", { class: "fact" }, el("b", {}, value), el("span", {}, name), el("small", {}, note)))),
    el("p", { class: "faint" }, `Store ${about.store}; engines: ${engines || "none yet"}; ${about.machines.join("; ") || "no machine named"}${finished}. Claims are judged by runs of ${whole(about.judged)} episodes.`));
}

function problems() {
  const lines = data.about.problems;
  return lines.length ? el("details", { class: "problems" }, el("summary", {}, `${lines.length} files could not be used`),
    el("ul", {}, lines.map((line) => el("li", {}, line)))) : null;
}

function verdicts() {
  const counts = Object.fromEntries(WORDS.map((word) => [word, data.claims.filter((one) => one.verdict === word).length]));
  const hidden = remembered("verdicts", () => ({ hidden: new Set() })).hidden;
  const rows = data.claims.map(claimRow);
  const show = () => rows.forEach((row, i) => { row.hidden = hidden.has(data.claims[i].verdict); });
  const filters = WORDS.filter((word) => counts[word]).map((word) => {
    const made = button(`${counts[word]} ${word}`, () => {
      if (!hidden.delete(word)) hidden.add(word);
      made.setAttribute("aria-pressed", String(!hidden.has(word)));
      show();
    }, { class: `verdict ${word.replace(" ", "-")}`, "aria-pressed": String(!hidden.has(word)) });
    return made;
  });
  show();
  const columns = ["claim", "what the paper says, what was found, and how to see it again", "verdict", "effect [95 %]", "seeds", "figure"];
  return el("div", {}, el("h2", {}, "What the paper says, and what was found"),
    el("div", { class: "legend", role: "group", "aria-label": "Verdicts shown" }, filters),
    el("table", { class: "claims" },
      el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows)));
}

function claimRow(one) {
  const drawn = data.figures.some((figure) => figure.name === one.figure);
  const link = drawn ? el("a", { href: `#${one.figure}` }, one.figure) : one.figure || (one.proof.length ? "proof" : "");
  const effect = missing(one.effect) ? "" : signed(one.effect) + (missing(one.low) ? "" : ` [${signed(one.low)}, ${signed(one.high)}]`);
  return el("tr", { id: `claim-${one.id}` },
    el("th", { scope: "row" }, one.id),
    el("td", { class: "says" }, one.claim, el("small", {}, one.sentence), command(one.command), el("details", {}, el("summary", {}, "criterion"), one.criterion)),
    el("td", {}, el("span", { class: `verdict ${one.verdict.replace(" ", "-")}` }, one.verdict)),
    el("td", { class: "effect", "data-label": effect && "effect" }, effect),
    el("td", { "data-label": one.seeds ? "seeds" : null }, one.seeds ? String(one.seeds) : ""),
    el("td", {}, link));
}
