// The console's own script: a link's secret is sent from behind "#", whoever uses the keyboard keeps their place when a page
// renews itself, and usage is drawn as charts.

const login = document.getElementById("login");
function openByLink() {
  if (!login || location.hash.length < 2) return;
  document.getElementById("secret").value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  login.requestSubmit();
}
openByLink();
addEventListener("hashchange", openByLink); // the link is opened where this page stands already

let place = null;
document.addEventListener("htmx:beforeSwap", () => {
  const part = document.getElementById("part"), at = document.activeElement;
  const scrolls = [...part.querySelectorAll(".scroll, pre")].map((each) => each.scrollLeft);
  place = { inside: part.contains(at), tag: at.tagName, href: at.getAttribute("href"), label: at.getAttribute("aria-label"), scrolls };
});
document.addEventListener("htmx:afterSwap", () => {
  const part = document.getElementById("part"), said = document.getElementById("said");
  if (!place) return;
  part.querySelectorAll(".scroll, pre").forEach((each, index) => { each.scrollLeft = place.scrolls[index] || 0; });
  if (!place.inside) return;
  const same = (each) => each.tagName === place.tag && each.getAttribute("href") === place.href && each.getAttribute("aria-label") === place.label;
  const next = said.hidden ? [...part.querySelectorAll("a, button, [tabindex='0']")].find(same) : said; // after an action: its result
  next?.focus({ preventScroll: true });
});

const style = getComputedStyle(document.documentElement);
const short = new Intl.NumberFormat(document.documentElement.lang, { notation: "compact" });
const colour = (name) => style.getPropertyValue(name).trim();

function draw(holder, at, values, label, scale) {
  holder.replaceChildren();
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
  return new uPlot({
    width: Math.max(260, holder.clientWidth), height: 180, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: true, range: [at[0] - 86400, at.at(-1) + 86400] }, y: { range: (_, __, most) => [0, most || 1] } },
    axes: [{ ...axis, values: (_, ticks) => ticks.map((tick) => new Date(tick * 1000).toISOString().slice(5, 10)), space: 60, incrs: [1, 2, 7, 14, 28, 56].map((days) => days * 86400) },
           { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => short.format(tick)) }],
    series: [{}, { label, stroke: colour("--accent"), fill: colour("--fill"), width: 2, paths: uPlot.paths.bars({ size: [0.6, 60] }) }],
  }, [at, values.map((value) => value / scale)], holder);
}

function drawCharts() {
  const charts = document.querySelector("[data-charts]");
  if (!charts || typeof uPlot === "undefined") return;
  const { at, ...series } = JSON.parse(charts.dataset.charts);
  for (const holder of charts.querySelectorAll(".chart")) {
    const of = holder.dataset.of;
    draw(holder, at, series[of], of, of === "microusd" ? 1e6 : 1);
  }
}
drawCharts();
