// A chart with all that belongs to it: heading, controls, text alternative, and its numbers to take away.

const charts = new Set();

class Chart {
  // option() gives what ECharts draws; summary() { columns, rows } of text; points() { columns, rows } of numbers.
  constructor({ name, title, option, summary, points, label, tall = false }) {
    Object.assign(this, { name, option, points, label, summary });
    this.place = el("div", { class: tall ? "plot tall" : "plot", role: "img" });
    this.numbers = el("details", { ontoggle: () => this.tabulate() }, el("summary", {}, "Numbers"));
    this.element = el("figure", { class: "chart", "data-chart": name },
      title ? el("figcaption", {}, title) : null, this.place,
      el("div", { class: "take" }, this.numbers,
        button("Copy CSV", () => copy(this.csv()), { class: "small" }),
        button("Download CSV", () => download(`${name}.csv`, this.csv()), { class: "small" })));
    charts.add(this);
    Chart.seen.observe(this.place);
  }

  csv() {
    const { columns, rows } = this.points();
    return csv(columns, rows);
  }

  // Drawn when it is first looked at: a page of many charts opens as fast as a page of few.
  draw() {
    if (!this.drawn) {
      this.drawn = echarts.init(this.place, null, { renderer: "canvas" });
      Chart.resized.observe(this.place);
    }
    this.update();
  }

  update() {
    this.place.setAttribute("aria-label", `${this.label()}. The numbers are in the table below.`);
    if (this.drawn) this.drawn.setOption({ ...common(), ...this.option() }, true);
    this.tabulate();
  }

  tabulate() {
    if (!this.numbers.open) return;
    const { columns, rows } = this.summary();
    this.numbers.replaceChildren(this.numbers.firstChild, el("div", { class: "scroll" }, table(columns, rows)));
  }

  remove() {
    Chart.seen.unobserve(this.place);
    Chart.resized.unobserve(this.place);
    if (this.drawn) this.drawn.dispose();
    charts.delete(this);
  }
}

const chartOf = (place) => [...charts].find((chart) => chart.place === place);

Chart.seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    const chart = isIntersecting && chartOf(target);
    if (chart && !chart.drawn) chart.draw();
  }
}, { rootMargin: "400px" });
Chart.resized = new ResizeObserver((entries) => {
  for (const { target } of entries) chartOf(target)?.drawn?.resize();
});
theme.watchers.push(() => { for (const chart of charts) chart.update(); });
window.addEventListener("beforeprint", () => { for (const chart of charts) if (!chart.drawn) chart.draw(); });

const common = () => ({
  animation: false,
  textStyle: { color: theme.colour("text"), fontFamily: "system-ui, sans-serif" },
  backgroundColor: "transparent",
  grid: { left: 30, right: 18, top: 18, bottom: 30, containLabel: true },
  tooltip: tooltip(),
});

const axis = (name, more = {}) => ({
  name, nameLocation: "middle", nameGap: 30, nameTextStyle: { color: theme.colour("faint") },
  axisLine: { lineStyle: { color: theme.colour("faint") } },
  axisLabel: { color: theme.colour("faint"), hideOverlap: true },
  splitLine: { lineStyle: { color: theme.colour("line") } },
  ...more,
});

const rewardAxis = (more = {}) => axis("reward", { type: "value", scale: true, nameGap: 42, ...more });

// Made of elements, not of markup: labels come from a store.
const tooltip = (more = {}) => ({
  backgroundColor: theme.colour("card"), borderColor: theme.colour("line"),
  textStyle: { color: theme.colour("text"), fontSize: 12 }, confine: true, ...more,
});

const told = (heading, rows) => el("div", {}, el("strong", {}, heading), rows.map(([colour, label, value]) => {
  const dot = el("span", { class: "dot" });
  dot.style.backgroundColor = colour;
  return el("div", { class: "hint" }, dot, el("span", {}, label), el("span", { class: "value" }, value));
}));
