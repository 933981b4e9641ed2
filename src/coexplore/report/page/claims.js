// What became of the paper's claims whose runs are here, folded under what they are about.

const VERDICTS = ["holds", "fails", "tie", "undecided", "not run"];

const counted = (claims) => VERDICTS.map((word) => [claims.filter((one) => one.verdict === word).length, word])
  .filter(([count]) => count).map(([count, word]) => tally(count, word)).join(", ");

const SEVERAL = { holds: "hold", fails: "fail", tie: "ties" };
const tally = (count, word) => `${count} ${count > 1 ? SEVERAL[word] ?? word : word}`;

function claims(target) {
  const hidden = remembered("verdicts", () => ({ hidden: new Set() })).hidden;
  const groups = [...Map.groupBy(data.claims, (one) => one.about)].map(([about, mine]) => claimGroup(about, mine, target));
  const show = () => { for (const { element, rows } of groups) element.hidden = rows.every(({ row, one }) => { row.hidden = hidden.has(one.verdict); return row.hidden; }); };
  const filters = VERDICTS.map((word) => [word, data.claims.filter((one) => one.verdict === word).length]).filter(([, count]) => count).map(([word, count]) => {
    const made = button(tally(count, word), () => {
      if (!hidden.delete(word)) hidden.add(word);
      made.setAttribute("aria-pressed", String(!hidden.has(word)));
      show();
    }, { class: `verdict ${word.replace(" ", "-")}`, "aria-pressed": String(!hidden.has(word)) });
    return made;
  });
  show();
  return el("section", { id: "claims", "aria-labelledby": "claims-title" }, el("h1", { id: "claims-title" }, "What the paper says, and what was found"),
    el("p", { class: "faint" }, `Judged by runs of ${whole(data.about.judged)} episodes; claims whose runs are not here are left out.`), unmixedNote(),
    el("div", { class: "legend", role: "group", "aria-label": "Verdicts shown" }, filters), groups.map(({ element }) => element));
}

function claimGroup(about, mine, target) {
  const rows = mine.map((one) => ({ one, row: claimRow(one) }));
  const columns = ["claim", "what the paper says, what was found, and how to see it again", "verdict", "effect [bounded 95 %]", "seeds", "five seeds name it", "figure"];
  const open = mine.some((one) => target === `claim-${one.id}`);
  return { rows, element: el("details", { class: "group", open }, el("summary", {}, el("strong", {}, about), el("small", {}, counted(mine))),
    el("table", { class: "claims" },
      el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows.map(({ row }) => row)))) };
}

function claimRow(one) {
  const drawn = data.figures.find((figure) => figure.of === one.figure);
  const link = drawn ? el("a", { href: `#${drawn.name}` }, one.figure) : one.figure || (one.proof.length ? "proof" : "");
  const span = ([low, high]) => `[${signed(low)}, ${signed(high)}]`;
  const bounded = !missing(one.low) && !(one.welch && one.welch[0] === one.low && one.welch[1] === one.high);
  const effect = missing(one.effect) ? "" : signed(one.effect) + (bounded ? ` ${span([one.low, one.high])}` : "");
  return el("tr", { id: `claim-${one.id}` },
    el("th", { scope: "row" }, one.id),
    el("td", { class: "says" }, one.claim, el("small", {}, one.sentence), command(one.command), el("details", {}, el("summary", {}, "criterion"), one.criterion,
      one.was ? el("p", {}, `Until it was changed, as written on ${one.was.of}: ${one.was.criterion} Why it was changed: ${one.was.why}`) : null)),
    el("td", { class: "words" }, word(one.verdict),
      one.without_ties && one.without_ties !== one.verdict ? el("small", {}, `without ties: ${one.without_ties}`) : null,
      one.signed ? el("small", {}, "signed signals: ", word(one.signed)) : null,
      one.was ? el("small", {}, "before: ", word(one.was.verdict)) : null),
    el("td", { class: "effect", "data-label": effect && "effect" }, effect,
      one.welch ? el("small", {}, `by Welch's ${one.by_welch} ${span(one.welch)}`) : null),
    el("td", { "data-label": one.seeds ? "seeds" : null }, one.seeds ? String(one.seeds) + (one.chose ? ` + ${one.chose}` : "") : ""),
    el("td", { "data-label": missing(one.named) ? null : "five seeds name the winner" }, missing(one.named) ? "" : one.named.toFixed(2)),
    el("td", {}, link));
}

const word = (text) => el("span", { class: `verdict ${text.replace(" ", "-")}` }, text);
