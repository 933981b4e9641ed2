// While a study runs: how far it is, asked for every other second. Nothing here can change the study.

const EVERY = 2000;

function live() {
  if (!data.live) return null;
  const line = el("p", { id: "progress-text" }, "Asking the server …");
  const bar = el("progress", { max: 1, value: 0, "aria-label": "Share of the study that is done" });
  const failures = el("ul", {});
  let news = { running: [] };
  const lines = () => news.running.map((one, i) => ({
    label: one.label, look: looks(news.running.map((other) => other.rule))[i], x: one.points.map(([x]) => x), mean: one.points.map(([, y]) => y), band: () => null, one,
  })).filter((each) => each.x.length);
  const chart = new Chart({
    name: "live", label: () => `Runs under way: ${news.running.length}`,
    option: (size) => ({ ...curvesOption(lines(), { band: "none", window: "all" }, size), ...whenLive(news) }),
    summary: () => ({ columns: ["run", "episodes done", "of", "reward now"], rows: lines().map(({ label, one, mean: y }) => [label, whole(one.done), whole(one.episodes), number(y.at(-1))]) }),
    points: () => ({ columns: ["run", "episodes", "reward"], rows: lines().flatMap(({ label, x, mean: y }) => x.map((at, i) => [label, at, y[i]])) }),
  });
  const card = el("div", { class: "card", hidden: true }, chart.element);
  const show = (found) => {
    news = found;
    line.textContent = progressText(found);
    if (missing(found.share)) bar.removeAttribute("value"); else bar.value = found.share;
    failures.replaceChildren(...found.failures.map((reason) => el("li", {}, `failed: ${reason}`)));
    card.hidden = !lines().length;
    chart.update();
  };
  follow(show, (text) => { line.textContent = text; });
  return el("section", { id: "live", "aria-labelledby": "live-title" }, el("h2", { id: "live-title" }, "Running now"), line, bar, failures, card);
}

const whenLive = ({ running }) => ({
  xAxis: axis("episodes", {
    type: "value", min: 0, max: Math.max(1, ...running.map((one) => one.episodes)),
    axisLabel: { color: theme.colour("faint"), formatter: compact, hideOverlap: true },
  }),
});

function progressText({ finished, planned, share, left, busy, idle, failures }) {
  const parts = [planned ? `${whole(finished)} of ${whole(planned)} runs finished` : `${whole(finished)} runs finished`];
  if (!missing(share) && share < 1) parts.push(`${(100 * share).toFixed(1)} % of the episodes`);
  parts.push(busy ? `${busy} under way` : "nothing under way");
  if (idle) parts.push(`${idle} interrupted`);
  if (failures.length) parts.push(`${failures.length} failed`);
  if (!missing(left)) parts.push(`about ${duration(left)} left`);
  return parts.join(" · ");
}

// The report itself is fetched again when runs have finished since.
async function follow(show, tell) {
  for (;;) {
    try {
      const found = await (await fetch("live.json")).json();
      if (found.stamp !== data.stamp) {
        const fresh = await (await fetch("data.json")).json();
        if (fresh.stamp !== data.stamp) renew(fresh);
      }
      show(found);
    } catch {
      tell("The server does not answer. The study, if it runs, goes on without it.");
    }
    await new Promise((wake) => setTimeout(wake, EVERY));
  }
}
