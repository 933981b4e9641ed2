// The page: one view at a time, by what stands behind # in its address, made of the data inside it and made again when a
// served page gets newer data.

const memory = new Map();
const remembered = (name, make) => memory.get(name) ?? memory.set(name, make()).get(name);
const VIEWS = { runs: ["Runs", runs, () => true], figures: ["Figures", figures, () => data.figures.length],
  claims: ["Claims", claims, () => data.claims.length], inside: ["Inside a run", inside, () => data.inside.length] };

let data = JSON.parse(byId("data").textContent);

// The view, and what of it is meant.
function wanted() {
  const target = decodeURIComponent(location.hash.slice(1));
  const figure = data.figures.find((one) => one.name === target);
  if (figure) return ["figures", target, () => figureView(figure)];
  const name = target.startsWith("claim-") ? "claims" : target;
  const [, make, there] = VIEWS[Object.hasOwn(VIEWS, name) ? name : "runs"];
  return there() && make !== runs ? [name, target, () => make(target)] : ["runs", "", runs];
}

function show() {
  theme.shown = [];
  for (const chart of [...charts]) if (chart.name !== "live") chart.remove();
  const [view, target, make] = wanted();
  const going = byId("live") ?? live();
  byId("main").replaceChildren(...[view === "runs" ? going : null, make()].filter(Boolean));
  if (going && view !== "runs") byId("aside").replaceChildren(going);
  byId("nav").replaceChildren(...Object.entries(VIEWS).filter(([, [, , there]]) => there()).map(([name, [text]]) => el("a", { href: `#${name}`, "aria-current": name === view ? "page" : null }, text)));
  byId("footer").textContent = `coexplore ${data.about.version}, ${data.about.made.slice(0, 16).replace("T", " ")} UTC. Charts: Apache ECharts.`;
  if (target.startsWith("claim-")) byId(target)?.scrollIntoView();
}

// What the reader has turned stays as it was; the running part goes on by itself.
function renew(fresh) {
  const at = window.scrollY;
  data = fresh;
  show();
  window.scrollTo(0, at);
  say("The report has new runs");
}

window.addEventListener("hashchange", () => {
  window.scrollTo(0, 0);
  show();
  byId("main").focus({ preventScroll: true });
});
byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
theme.start();
show();
window.coexplore = { charts, difference, improvement, labelled, number, renew, get data() { return data; } };
