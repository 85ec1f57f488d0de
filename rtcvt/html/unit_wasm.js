"use strict";
// Runs the unit of a page: page.c has its functions. `unit` is there for tests, too.
const find = id => document.getElementById(id), about = JSON.parse(find("about").textContent);
const make = (parent, tag, more) => Object.assign(parent.appendChild(document.createElement(tag)), more);
const kept = 20, unit = {t: 0, running: false, values: {}, samples: [[]], plots: new Map()};
const shade = name => () => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
const outputs = about.variables.filter(v => v.kind === "output");

function chart(v) {
  const axis = {stroke: shade("soft"), grid: {stroke: shade("line"), width: 1}, ticks: {stroke: shade("line")}};
  const holder = make(find("plots"), "div");
  const plot = new uPlot({width: Math.max(280, holder.clientWidth), height: 170, title: v.name, scales: {x: {time: false}},
    axes: [axis, {...axis, size: 70, label: v.unit || undefined}], cursor: {sync: {key: "unit"}},
    series: [{label: "time [s]"}, {label: v.name, stroke: shade("blue"), value: (u, y) => y == null ? "–" : `${+y.toPrecision(5)} ${v.unit}`}]},
    [[], []], holder);
  unit.plots.set(v, {plot, holder});
}

function field(v, parent) {
  const row = make(parent, "div", {title: v.about}), label = make(row, "label", {textContent: `${v.name} `});
  unit.values[v.name] = v.start;
  if (v.items.length) {
    const box = make(label, "select", {name: v.name});
    v.items.forEach(([text, value]) => make(box, "option", {textContent: text, value, selected: value === v.start}));
    box.oninput = () => unit.set(v, +box.value);
  } else if (v.kind === "parameter") {
    const box = make(label, "input", {name: v.name, value: v.start});
    box.onchange = () => unit.set(v, +box.value);
  } else {
    const box = make(label, "input", {type: "range", name: v.name, min: v.low, max: v.high, step: "any", value: v.start});
    const told = make(row, "output"), tell = () => { told.textContent = ` ${+(+box.value).toPrecision(4)} ${v.unit}`; };
    box.oninput = () => { unit.set(v, +box.value); tell(); };
    tell();
  }
  if (v.kind === "parameter") make(row, "span", {textContent: ` ${v.unit}`});
}

unit.set = (v, value) => {
  unit.values[v.name] = value;
  if (v.kind === "input" && unit.code) unit.code.set(v.k, value);
};
unit.restart = () => {
  unit.t = 0; unit.samples = [[], ...outputs.map(() => [])];
  let status = unit.code.begin();
  about.variables.filter(v => v.kind !== "output").forEach(v => { status = Math.max(status, unit.code.set(v.k, unit.values[v.name])); });
  return unit.failed(Math.max(status, unit.code.initialise()));
};
unit.failed = status => {
  if (status > 1) { unit.running = false; find("run").textContent = "Run"; find("told").textContent = `refused at ${unit.t.toFixed(3)} s (status ${status})`; }
  return status > 1;
};
unit.advance = steps => { // of the unit
  for (let k = 0; k < steps; k++) {
    if (unit.failed(unit.code.step(about.step))) return;
    unit.t += about.step;
  }
  unit.samples[0].push(unit.t);
  outputs.forEach((v, k) => unit.samples[k + 1].push(unit.code.get(v.k)));
  while (unit.samples[0][0] < unit.t - kept) unit.samples.forEach(row => row.shift());
};
unit.draw = () => {
  unit.plots.forEach(({plot}, v) => plot.setData([unit.samples[0], unit.samples[outputs.indexOf(v) + 1]]));
  find("told").textContent = `t = ${unit.t.toFixed(2)} s`;
};

let before = 0;
function frame(at) {
  if (!unit.running) return;
  const due = Math.min(0.1, (at - before) / 1e3) * +find("speed").value, end = performance.now() + 30;
  before = at;
  for (let left = Math.round(due / about.step); left > 0 && unit.running && performance.now() < end; left -= 10) unit.advance(Math.min(10, left));
  if (unit.running) { unit.draw(); requestAnimationFrame(frame); }
}

about.variables.filter(v => v.kind === "input").forEach(v => field(v, find("inputs")));
about.variables.filter(v => v.kind === "parameter").forEach(v => field(v, find("parameters")));
const first = [...outputs].sort((a, b) => (["N.m", "rad/s"].includes(b.unit)) - (["N.m", "rad/s"].includes(a.unit))).slice(0, about.shown);
outputs.forEach(v => {
  const label = make(find("outputs"), "label", {title: v.about}), box = make(label, "input", {type: "checkbox", checked: first.includes(v)});
  label.append(` ${v.name}`);
  box.oninput = () => { if (box.checked) chart(v); else { unit.plots.get(v).holder.remove(); unit.plots.delete(v); } };
  if (box.checked) chart(v);
});
new ResizeObserver(() => unit.plots.forEach(({plot, holder}) => plot.setSize({width: Math.max(280, holder.clientWidth), height: 170}))).observe(find("plots"));
find("run").onclick = () => {
  unit.running = !unit.running; find("run").textContent = unit.running ? "Pause" : "Run";
  if (unit.running) requestAnimationFrame(at => { before = at; frame(at); });
};
find("again").onclick = () => { unit.restart(); unit.draw(); };
const nothing = new Proxy({}, {get: () => () => 0}), bytes = Uint8Array.from(atob(find("code").textContent), c => c.charCodeAt(0));
WebAssembly.instantiate(bytes, {wasi_snapshot_preview1: nothing, env: nothing}).then(made => {
  unit.code = made.instance.exports;
  if (unit.code._initialize) unit.code._initialize();
  unit.restart();
  document.body.dataset.ready = "yes";
});
