"use strict";
// Charts from the data that follow a picture, see charts.py: uPlot draws lines; areas, rules and points are drawn here.
(() => {
const colour = told => {
  const [name, opacity] = told.split(" ");
  const hex = name.startsWith("--") ? getComputedStyle(document.documentElement).getPropertyValue(name).trim() : name;
  return hex + Math.round(255 * opacity).toString(16).padStart(2, "0");
};
const css = name => () => colour(`--${name} 1`);
const plots = [], linked = {};

function painted(panel, u, c, kinds) {
  const x = v => u.valToPos(v, "x", true), y = v => u.valToPos(v, "y", true), {left, top, width, height} = u.bbox;
  c.save();
  c.beginPath(); c.rect(left, top, width, height); c.clip();
  if (kinds === "areas") panel.areas.forEach(a => {
    c.fillStyle = colour(a.c); c.beginPath();
    a.x.forEach((v, k) => c.lineTo(x(v), a.i ? top + height * (1 - a.y[k]) : y(a.y[k])));
    c.fill();
  });
  else {
    panel.rules.forEach(r => {
      c.strokeStyle = colour(r.c); c.lineWidth = r.w * devicePixelRatio; c.setLineDash([6, 4]); c.beginPath();
      if ("h" in r) { c.moveTo(left, y(r.h)); c.lineTo(left + width, y(r.h)); } else { c.moveTo(x(r.v), top); c.lineTo(x(r.v), top + height); }
      c.stroke();
    });
    c.setLineDash([]);
    panel.lines.filter(s => s.loop).forEach(s => {
      c.strokeStyle = c.fillStyle = colour(s.c); c.lineWidth = s.w * devicePixelRatio; c.setLineDash(s.d ? [6, 4] : []); c.beginPath();
      let on = false;
      s.x.forEach((v, k) => {
        if (v === null || s.y[k] === null) { on = false; return; }
        if (s.dots) { c.fillRect(x(v) - 1.5, y(s.y[k]) - 1.5, 3, 3); return; }
        on ? c.lineTo(x(v), y(s.y[k])) : c.moveTo(x(v), y(s.y[k])); on = true;
      });
      c.stroke();
    });
    panel.dots.forEach(([a, b, told, size]) => {
      c.fillStyle = colour(told); c.beginPath(); c.arc(x(a), y(b), size * devicePixelRatio, 0, 7); c.fill();
    });
  }
  c.restore();
}

function plot(holder, panel, all) {
  const lines = panel.lines.filter(s => !s.loop), unit = label => (/\[(.+)\]/.exec(label) || [])[1] ?? (label.length < 9 ? label : "");
  const data = lines.length ? uPlot.join(lines.map(s => [s.x, s.y])) : [panel.xs];
  const value = (v, of) => v == null ? "–" : `${+v.toPrecision(5)} ${unit(of)}`;
  const whole = u => u.scales.x.min <= panel.xs[0] && u.scales.x.max >= panel.xs[1];
  const flipped = panel.ys[0] > panel.ys[1], [low, high] = [...panel.ys].sort((a, b) => a - b);
  const axis = (k, label, more) => ({stroke: css("soft"), grid: {stroke: css("line"), width: 1}, ticks: {stroke: css("line"), size: 4},
    font: "12px sans-serif", labelFont: "12px sans-serif", label: label || undefined, labelSize: 18, gap: 3,
    values: (u, places) => places.map(v => v == null ? "" : String(+v.toPrecision(8)).replace("-", "−")),
    ...(panel.ticks[k] && {splits: () => panel.ticks[k][0], values: () => panel.ticks[k][1]}), ...more});
  const widest = panel.ticks[1] ? Math.max(...panel.ticks[1][1].map(t => 7 * t.length)) : 40;
  const key = panel.xs.join();
  const options = {
    width: Math.max(200, holder.clientWidth), height: Math.max(140, panel.high + 40), title: panel.title || undefined, ms: 1,
    scales: {
      x: {time: false, distr: panel.log[0] ? 3 : 1, range: (u, a, b) => all.zoom[key] ? [a, b] : panel.xs},
      y: {distr: panel.log[1] ? 3 : 1, dir: flipped ? -1 : 1, range: (u, a, b) => whole(u) || a == null || panel.areas.some(z => !z.i)
        ? [low, high] : uPlot.rangeNum(a, b, 0.05, true)},
      ...("right" in panel && {z: {}}),
    },
    axes: [axis(0, panel.x, {size: 28}), axis(1, panel.y, {size: Math.min(widest + 16, 160)}),
      ...("right" in panel ? [axis(-1, panel.right, {scale: "z", side: 1, size: 48, grid: {show: false}})] : [])],
    series: [{label: panel.x || "at", value: (u, v) => value(v, panel.x)}, ...lines.map(s => ({
      label: s.n || panel.y, scale: s.z ? "z" : "y", stroke: () => colour(s.c), width: s.w, dash: s.d ? [6, 4] : undefined,
      spanGaps: false, value: (u, v) => value(v, s.z ? panel.right : panel.y),
      paths: s.dots ? () => null : undefined, points: {show: s.dots, size: 4}}))],
    cursor: {drag: {x: true, y: false}, sync: {key: `rtcvt ${key}`, scales: ["x", null]}, focus: {prox: 24}},
    focus: {alpha: 0.5},
    legend: {show: lines.length > 0},
    hooks: {
      drawAxes: [u => painted(panel, u, u.ctx, "areas")],
      draw: [u => painted(panel, u, u.ctx, "rest")],
      setSelect: [u => { all.zoom[key] = u.select.width > 0; }],
      setScale: [(u, scale) => {
        if (scale !== "x") return;
        const {min, max} = u.scales.x;
        all.zoom[key] = min > panel.xs[0] || max < panel.xs[1];
        linked[key].forEach(other => (other.scales.x.min === min && other.scales.x.max === max) || other.setScale("x", {min, max}));
      }],
    },
  };
  (linked[key] ||= []);
  const u = new uPlot(options, data, holder);
  u.over.addEventListener("dblclick", () => { all.zoom[key] = false; u.setScale("x", {min: panel.xs[0], max: panel.xs[1]}); });
  linked[key].push(u);
  plots.push([u, holder]);
}

const all = {zoom: {}};
document.querySelectorAll("script.chart").forEach(data => {
  const about = JSON.parse(data.textContent), grid = document.createElement("div");
  grid.className = "charts";
  grid.style.setProperty("--columns", about.columns);
  data.after(grid);
  about.panels.forEach(panel => {
    const holder = document.createElement("div");
    grid.append(holder);
    plot(holder, panel, all);
    if (panel.note) Object.assign(holder.insertBefore(document.createElement("small"), holder.firstChild), {textContent: panel.note});
  });
  const hint = document.createElement("p");
  hint.className = "hint";
  hint.textContent = "Drag to zoom, double click to see all, click a name to hide its line.";
  grid.append(hint);
  data.previousElementSibling.classList.add("replaced");
});
addEventListener("resize", () => plots.forEach(([u, holder]) => u.setSize({width: holder.clientWidth, height: u.height})));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach(([u]) => u.redraw(false)));
})();
