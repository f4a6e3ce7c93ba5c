// The console's own script: a link's secret is sent from behind "#", and usage is drawn as charts.

const login = document.getElementById("login");
if (login && location.hash.length > 1) {
  document.getElementById("secret").value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  login.requestSubmit();
}

const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(name).trim();

function draw(holder, at, values, label, scale) {
  holder.replaceChildren();
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
  return new uPlot({
    width: Math.max(260, holder.clientWidth), height: 180, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: true, range: [at[0] - 86400, at.at(-1) + 86400] }, y: { range: (_, __, most) => [0, most || 1] } },
    axes: [{ ...axis, values: (_, ticks) => ticks.map((tick) => new Date(tick * 1000).toISOString().slice(5, 10)), space: 60, incrs: [86400, 172800, 604800] },
           { ...axis, size: 60 }],
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
