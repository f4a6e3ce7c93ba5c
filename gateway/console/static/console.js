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
  const opened = [...part.querySelectorAll("details")].map((each) => each.open);
  place = { opened, inside: part.contains(at), tag: at.tagName, href: at.getAttribute("href"), label: at.getAttribute("aria-label"), scrolls };
});
document.addEventListener("htmx:afterSwap", () => {
  const part = document.getElementById("part"), said = document.getElementById("said");
  if (!place) return;
  part.querySelectorAll("details").forEach((each, index) => { each.open ||= Boolean(place.opened[index]); });
  part.querySelectorAll(".scroll, pre").forEach((each, index) => { each.scrollLeft = place.scrolls[index] || 0; });
  const wrong = part.querySelector("[aria-invalid]");
  if (wrong) wrong.focus();
  if (wrong || !place.inside) return;
  const same = (each) => each.tagName === place.tag && each.getAttribute("href") === place.href && each.getAttribute("aria-label") === place.label;
  const next = said.hidden ? [...part.querySelectorAll("a, button, [tabindex='0']")].find(same) : said; // after an action: its result
  next?.focus({ preventScroll: true });
});

// Rows are cards on a phone: each cell says its column, and the roles that the display takes away are said anew.
function labelCells() {
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
    table.setAttribute("role", "table");
    table.querySelectorAll("thead, tbody").forEach((group) => group.setAttribute("role", "rowgroup"));
    for (const row of table.rows) {
      row.setAttribute("role", "row");
      [...row.cells].forEach((cell, column) => {
        const isHead = cell.tagName === "TH";
        cell.setAttribute("role", isHead ? (cell.closest("thead") ? "columnheader" : "rowheader") : "cell");
        if (!isHead && cell.colSpan === 1 && !cell.classList.contains("actions")) cell.dataset.label = heads[column] || "";
      });
    }
  }
}
labelCells();
document.addEventListener("htmx:afterSwap", labelCells);

document.cookie = `tenk_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/console; max-age=31536000; SameSite=Strict`;

const menu = document.querySelector(".menu");
if (menu) {
  menu.hidden = false;
  menu.addEventListener("click", () => menu.setAttribute("aria-expanded", menu.getAttribute("aria-expanded") === "false"));
}

const short = new Intl.NumberFormat(document.documentElement.lang, { notation: "compact" });
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function draw(holder, days, values, label, scale) {
  holder.replaceChildren();
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
  const step = Math.ceil(days.length / Math.max(1, Math.floor((holder.clientWidth - 60) / 50)));
  const marked = days.map((_, place) => place).filter((place) => (days.length - 1 - place) % step === 0);
  return new uPlot({ // a bar stands at its day's place: days are words here, which no zone moves
    width: Math.max(240, holder.clientWidth), height: 180, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false, range: [-0.6, days.length - 0.4] }, y: { range: (_, __, most) => [0, most || 1] } },
    axes: [{ ...axis, splits: () => marked, values: () => marked.map((place) => days[place].slice(5)) },
           { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => short.format(tick)) }],
    series: [{}, { label, stroke: colour("--accent"), fill: colour("--fill"), width: 1, points: { show: false }, paths: uPlot.paths.bars({ size: [0.6, 60] }) }],
  }, [days.map((_, place) => place), values.map((value) => value / scale)], holder);
}

function drawCharts() {
  const charts = document.querySelector("[data-charts]");
  if (!charts || typeof uPlot === "undefined") return;
  const { days, ...series } = JSON.parse(charts.dataset.charts);
  for (const holder of charts.querySelectorAll(".chart")) {
    const of = holder.dataset.of;
    draw(holder, days, series[of], of, of === "microusd" ? 1e6 : 1);
  }
}
drawCharts();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);
let drawnWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== drawnWidth) drawCharts();
  drawnWidth = innerWidth;
});
