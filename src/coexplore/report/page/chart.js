// A chart with all that belongs to it: heading, controls, text alternative, and its numbers to take away.

const charts = new Set();

class Chart {
  // option(size) gives what ECharts draws in a place of that size; summary() { columns, rows } of text; points() { columns, rows } of numbers.
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
    if (this.drawn) this.paint({ width: this.place.clientWidth, height: this.place.clientHeight });
    this.tabulate();
  }

  // Where lines end is known once they are drawn: their names come after them.
  paint(size) {
    const { names, ...option } = this.option(size);
    this.drawn.setOption({ ...common(), ...option }, true);
    if (names) this.drawn.setOption({ graphic: names.placed((at) => this.drawn.convertToPixel({ gridIndex: 0 }, at)[1]) });
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
  for (const { target } of entries) {
    const chart = chartOf(target);
    if (!chart?.drawn) continue;
    chart.drawn.resize();
    chart.update(); // names at the ends of lines have more room, or less
  }
});
theme.watchers.push(() => { for (const chart of charts) chart.update(); });
window.addEventListener("beforeprint", () => { for (const chart of charts) if (!chart.drawn) chart.draw(); });

const common = () => ({
  animation: false,
  textStyle: { color: theme.colour("text"), fontFamily: "system-ui, sans-serif" },
  backgroundColor: "transparent",
  grid: grid(),
  tooltip: tooltip(),
});

// Room for the names of both axes, and beside it for those of lines.
const grid = (right = 18) => ({ left: 12, right, top: 32, bottom: 30, containLabel: true });

const axis = (name, more = {}) => ({
  name, nameLocation: "middle", nameGap: 28, nameTextStyle: { color: theme.colour("faint") },
  axisLine: { onZero: false, lineStyle: { color: theme.colour("faint") } },
  axisLabel: { color: theme.colour("faint"), hideOverlap: true },
  splitLine: { lineStyle: { color: theme.colour("line") } },
  ...more,
});

const few = ({ width }) => width < 500 ? 3 : 5; // ticks

// A vertical axis has its name above it, where no number is.
const upright = (name, more = {}) => axis(name, {
  type: "value", nameLocation: "end", nameGap: 12, nameTextStyle: { color: theme.colour("faint"), align: "left", padding: [0, 0, 0, -24] }, ...more,
});

const rewardAxis = (more = {}) => upright("reward", { scale: true, ...more });

// Values of the horizontal axis, evenly apart however they are: fractions of a step are places beside them.
const steps = (name, ticks) => axis(name, {
  type: "value", min: -0.5, max: ticks.length - 0.5, interval: 0.5, splitLine: { show: false }, axisTick: { show: false },
  axisLabel: { color: theme.colour("faint"), hideOverlap: true, formatter: (x) => Number.isInteger(x) ? String(ticks[x] ?? "") : "" },
});

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
