// The page: its parts, made of the data inside it, and made again when a served page gets newer data.

const memory = new Map();
const remembered = (name, make) => memory.get(name) ?? memory.set(name, make()).get(name);
const PARTS = { live: ["Running now", live], overview: ["Overview", overview], figures: ["Figures", figures], inside: ["Inside a run", inside], compare: ["Compare", compare] };

let data = JSON.parse(byId("data").textContent);

function show() {
  theme.shown = [];
  const sections = Object.entries(PARTS).map(([name, [, make]]) => byId("main").querySelector(`#${name}`)?.id === "live" ? byId("live") : make());
  byId("main").replaceChildren(...sections.filter(Boolean));
  byId("nav").replaceChildren(...Object.entries(PARTS).filter(([name]) => byId(name)).map(([name, [title]]) => el("a", { href: `#${name}` }, title)));
  byId("footer").textContent = `coexplore ${data.about.version}, ${data.about.made}. Charts: Apache ECharts.`;
}

// What the reader has turned stays as it was; the running part goes on by itself.
function renew(fresh) {
  const at = window.scrollY;
  for (const chart of [...charts]) if (chart.name !== "live") chart.remove();
  data = fresh;
  show();
  window.scrollTo(0, at);
  say("The report has new runs");
}

theme.start();
show();
window.coexplore = { charts, difference, improvement, level, get data() { return data; } };
