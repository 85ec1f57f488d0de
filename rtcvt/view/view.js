"use strict";
// The page of rtcvt.view: decodes the scene, builds it with three.js and keeps it moving. Lengths in the picture are in mm.

const $ = (id) => document.getElementById(id);
const text = (id) => $(id).textContent;
const MM = 1000, TURN = 2 * Math.PI;
const PLACES = [["primary arc", "#4f86c6"], ["push span", "#6b7785"], ["secondary arc", "#c67f4f"], ["slack span", "#3d4854"]];

const head = JSON.parse(text("head"));
const block = (() => {
  const packed = atob(text("data")), bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  $("data").remove();
  return new Uint16Array(bytes.buffer);  // little endian, as all machines with a browser are
})();
const G = head.geometry, N = head.n, elements = head.mode === "elements", drive = head.mode === "drive";

// --- values ---------------------------------------------------------------------------------------------------------

function value(track, frame, i) {
  const q = block[track.at + frame * track.width + i];
  return q === 65535 ? NaN : track.low + track.step * q;
}

/** All of a track at the time of frame a + t, the shorter way round where it is periodic. */
function row(track, a, t, out) {
  const b = Math.min(a + 1, N - 1), p = track.period;
  for (let i = 0; i < track.width; i++) {
    const from = value(track, a, i);
    let by = value(track, b, i) - from;
    if (p) by -= p * Math.round(by / p);
    out[i] = from + t * by;
  }
  return out;
}
const rows = Object.fromEntries(Object.entries(head.tracks).map(([k, track]) => [k, new Float64Array(track.width)]));
const channelRows = head.channels.map((c) => new Float64Array(c.track.width));

// --- colours --------------------------------------------------------------------------------------------------------

const RISING = ["#2a1b5e", "#31418a", "#27699a", "#1f8f97", "#2fb27c", "#79ce4e", "#d3dd3c", "#ffe45c"];
const SIGNED = ["#2f6fe0", "#6ea3f2", "#a9c5ee", "#d4d9df", "#efb79a", "#ea7f5c", "#d23f3a"];
function table(stops) {
  const rgb = stops.map((s) => [1, 3, 5].map((k) => parseInt(s.slice(k, k + 2), 16) / 255)), out = [];
  for (let i = 0; i < 256; i++) {
    const x = i / 255 * (rgb.length - 1), k = Math.min(Math.floor(x), rgb.length - 2);
    out.push(rgb[k].map((c, j) => c + (x - k) * (rgb[k + 1][j] - c)));
  }
  return out;
}
const LINEAR = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const scales = new Map(head.channels.map((c) => {
  const signed = -c.low > 0.02 * Math.max(c.high, 0);
  const most = Math.max(Math.abs(c.low), Math.abs(c.high)) || 1;
  const [low, high] = signed ? [-most, most] : [drive && c.low > 0.3 * c.high ? c.low : Math.min(0, c.low), Math.max(c.high, c.low + 1e-12)];
  const shades = table(signed ? SIGNED : RISING);
  return [c.name, {low, high, signed, shades, linear: shades.map((s) => s.map(LINEAR)), most: Math.max(Math.abs(low), Math.abs(high))}];
}));
const GREY = [0.13, 0.15, 0.17];
function shade(scale, v) {
  if (!(v === v)) return GREY;
  return scale.linear[Math.max(0, Math.min(255, Math.round(255 * (v - scale.low) / (scale.high - scale.low))))];
}
function worded(v, unit) {
  if (unit === "1") return `${Number(v.toPrecision(3))}`;
  const by = [[1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"]];
  const [size, prefix] = v === 0 ? [1, ""] : by.find(([s]) => Math.abs(v) >= s) ?? by[4];
  return `${Number((v / size).toPrecision(3))} ${prefix}${unit}`;
}

// --- three.js -------------------------------------------------------------------------------------------------------

(async () => {
const asModule = (code) => URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
const library = asModule(text("three"));
const THREE = await import(library);
const {OrbitControls} = await import(asModule(text("controls").replace(/from 'three'/, `from '${library}'`)));

const canvas = $("scene"), stage = $("stage");
const software = (() => {  // without a graphics card every pixel costs
  const gl = document.createElement("canvas").getContext("webgl2"), about = gl?.getExtension("WEBGL_debug_renderer_info");
  return /SwiftShader|llvmpipe|Software/i.test(about ? gl.getParameter(about.UNMASKED_RENDERER_WEBGL) : "");
})();
const renderer = new THREE.WebGLRenderer({canvas, antialias: !software, alpha: true});
const finest = Math.min(window.devicePixelRatio, 2);
let fine = finest;  // pixels of the picture by pixels of the page: fewer while a slow machine plays
renderer.setPixelRatio(fine);
const world = new THREE.Scene();
const camera = new THREE.PerspectiveCamera(32, 1, 2, 3000);
const controls = new OrbitControls(camera, canvas);
controls.enableDamping = true;
controls.dampingFactor = 0.12;
world.add(new THREE.HemisphereLight(0xdfeaf5, 0x2b3440, 1.5));
for (const [x, y, z, size] of [[200, 420, 500, 1.9], [-300, 100, -400, 0.8], [0, -300, 300, 0.35]]) {
  const light = new THREE.DirectionalLight(0xffffff, size);
  light.position.set(x, y, z);
  world.add(light);
}
const extent = drive ? layout() : null, d_A = drive ? extent.size : G.d_A * MM, lean = drive ? 0 : Math.tan(G.delta_0);
const centres = drive ? extent.centres : [[d_A, 0], [0, 0]];  // of a variator: primary, secondary
/** Size and middle of a belt drive, and its pulleys' centres at the first frame. */
function layout() {
  const c = row(head.tracks.centre, 0, 0, rows.centre), at = G.pulleys.map((p, k) => [c[2 * k] * MM, c[2 * k + 1] * MM]);
  const ends = [0, 1].map((j) => [Math.min(...at.map((p, k) => p[j] - G.pulleys[k].radius * MM)), Math.max(...at.map((p, k) => p[j] + G.pulleys[k].radius * MM))]);
  return {centres: at, size: 0.86 * Math.max(...ends.map(([a, b]) => b - a)), mid: [...ends.map(([a, b]) => 0.5 * (a + b)), 0]};
}

const sheaves = [], wheels = drive ? pulleys() : [], marks = new THREE.MeshLambertMaterial({color: 0x2a3540});
if (!drive) makeSheaves();

/** Pulleys of a belt drive, and bars for the arms that carry them. */
function pulleys() {
  const half = 0.62 * 0.06 * d_A, dark = new THREE.MeshLambertMaterial({color: 0x2a3540});
  return G.pulleys.map((p, k) => {
    const r = p.radius * MM, body = new THREE.Group(), holder = new THREE.Group();
    const metal = new THREE.MeshLambertMaterial({color: 0x66727f, side: THREE.DoubleSide});
    const rim = [[0.16 * r, -half], [0.3 * r, -half], [0.34 * r, -0.5 * half], [0.74 * r, -0.5 * half], [0.8 * r, -half], [r, -half],
      [r, half], [0.8 * r, half], [0.74 * r, 0.5 * half], [0.34 * r, 0.5 * half], [0.3 * r, half], [0.16 * r, half]];
    body.add(new THREE.Mesh(new THREE.LatheGeometry(rim.map(([a, b]) => new THREE.Vector2(a, b)), 96).rotateX(Math.PI / 2), metal));
    const shaft = new THREE.Mesh(new THREE.CylinderGeometry(0.16 * r, 0.16 * r, 2.4 * half, 32).rotateX(Math.PI / 2), dark);
    body.add(shaft);
    for (let j = 0; j < 5; j++) for (const z of [0.52, -0.52]) {
      const bore = new THREE.Mesh(new THREE.CylinderGeometry(0.11 * r, 0.11 * r, 0.06 * half, 24).rotateX(Math.PI / 2), dark);
      bore.position.set(0.54 * r * Math.cos(j * TURN / 5), 0.54 * r * Math.sin(j * TURN / 5), z * half);
      body.add(bore);
    }
    const key = new THREE.Mesh(new THREE.BoxGeometry(0.2 * r, 0.05 * r, 2.04 * half), new THREE.MeshLambertMaterial({color: 0xffb454}));
    key.position.x = 0.89 * r;
    body.add(key);
    holder.add(body);
    world.add(holder);
    const pivot = G.pivots[k]?.map((v) => v * MM);
    let arm = null;
    if (pivot) {
      arm = new THREE.Mesh(new THREE.BoxGeometry(1, 0.28 * r, 0.5 * half), new THREE.MeshLambertMaterial({color: 0x9a7b45}));
      const pin = new THREE.Mesh(new THREE.CylinderGeometry(0.26 * r, 0.26 * r, 1.4 * half, 32).rotateX(Math.PI / 2), new THREE.MeshLambertMaterial({color: 0xbd9a58}));
      pin.position.set(...pivot, -1.4 * half);
      world.add(arm, pin);
    }
    return {holder, body, arm, pivot, set(x, y, turned) {
      holder.position.set(x, y, 0);
      body.rotation.z = turned;
      if (!arm) return;
      arm.position.set(0.5 * (x + pivot[0]), 0.5 * (y + pivot[1]), -1.4 * half);
      arm.scale.x = Math.hypot(x - pivot[0], y - pivot[1]);
      arm.rotation.z = Math.atan2(y - pivot[1], x - pivot[0]);
    }};
  });
}

function makeSheaves() {
// sheaves: one mesh on each side of each pulley, the cone towards the belt; the apex moves along the shaft
const r_0 = G.r_min * MM, r_1 = G.r_max * MM, back = r_1 * lean + 7;
const profile = [[0.62 * r_0, back + 3], [0.62 * r_0, r_0 * lean], [r_0, r_0 * lean], [r_1 - 1, (r_1 - 1) * lean],
  [r_1, r_1 * lean + 1], [r_1, back - 2.5], [r_1 - 2, back], [0.84 * r_1, back], [0.8 * r_1, back - 4], [0.5 * r_1, back - 4],
  [0.44 * r_1, back + 3], [0.62 * r_0, back + 3]];
const cone = new THREE.LatheGeometry(profile.map(([r, z]) => new THREE.Vector2(r, z)), 128).rotateX(Math.PI / 2);
for (const [pulley, [x, y]] of centres.entries()) for (const side of [1, -1]) {
  const metal = new THREE.MeshLambertMaterial({color: 0x66727f, side: THREE.DoubleSide, transparent: true});
  const body = new THREE.Group();
  body.add(new THREE.Mesh(cone, metal));
  const signs = new THREE.Group(), lines = [];
  for (let k = 0; k < 12; k++) for (const r of [1.06 * r_0, r_1 - 1.2]) {
    lines.push(r * Math.cos(k * TURN / 12), r * Math.sin(k * TURN / 12), r * lean - 0.15);
  }
  const spokes = new THREE.BufferGeometry();
  spokes.setAttribute("position", new THREE.Float32BufferAttribute(lines, 3));
  signs.add(new THREE.LineSegments(spokes, new THREE.LineBasicMaterial({color: 0x46515d})));
  for (let k = 0; k < 6; k++) {  // spokes and bores show that it turns
    const bore = new THREE.Mesh(new THREE.CylinderGeometry(0.075 * r_1, 0.075 * r_1, 0.5, 28).rotateX(Math.PI / 2), marks);
    bore.position.set(0.65 * r_1 * Math.cos(k * TURN / 6), 0.65 * r_1 * Math.sin(k * TURN / 6), back - 4);
    signs.add(bore);
  }
  for (const [from, to, z] of [[0.86 * r_1, 0.99 * r_1, back], [0.64 * r_0, 0.98 * r_0, r_0 * lean]]) {
    const key = new THREE.Mesh(new THREE.BoxGeometry(to - from, 2.4, 0.8), new THREE.MeshLambertMaterial({color: 0xffb454}));
    key.position.set(0.5 * (from + to), 0, z);
    signs.add(key);
  }
  body.add(signs);
  const shaft = new THREE.Mesh(new THREE.CylinderGeometry(0.62 * r_0, 0.62 * r_0, 26, 48, 1, false).rotateX(Math.PI / 2), metal);
  shaft.position.z = back - 8;
  body.add(shaft);
  const holder = new THREE.Group();  // the mirrored sheave turns the same way
  holder.add(body);
  holder.position.set(x, y, 0);
  holder.scale.z = side;
  world.add(holder);
  sheaves.push({pulley, side, holder, body, metal, signs});
}
}

const labels = (drive ? G.pulleys.map((p) => p.name) : ["primary", "secondary"]).map((name) => {
  const label = document.createElement("b");
  label.textContent = name;
  stage.append(label);
  return label;
});
function putLabels() {
  for (const [k, label] of labels.entries()) {
    const v = new THREE.Vector3(...centres[k], 0).project(camera), y = (1 - v.y) / 2 * stage.clientHeight;
    label.style.transform = `translate(-50%, 26px) translate(${(v.x + 1) / 2 * stage.clientWidth}px, ${y}px)`;
  }
}

/** A triangle soup with normals and a brightness for each vertex. */
function soup() {
  const position = [], tone = [];
  const add = (p, t) => { position.push(...p); tone.push(t, t, t); };
  return {
    quad(a, b, c, d, t = [1, 1, 1, 1]) { for (const i of [0, 1, 2, 0, 2, 3]) add([a, b, c, d][i], t[i]); },
    geometry() {
      const g = new THREE.BufferGeometry();
      g.setAttribute("position", new THREE.Float32BufferAttribute(position, 3));
      g.setAttribute("color", new THREE.Float32BufferAttribute(tone, 3));
      g.computeVertexNormals();
      return g;
    },
  };
}

/** An element: its outline is a half width over height, its thickness changes with height; the rear side is plane. */
function elementShape() {
  const s = soup(), rear = -G.t_S * MM, dark = 0.42;
  const thick = (y) => (y < G.h_R ? G.t_B + (G.t_R - G.t_B) * y / G.h_R : G.t_R + (G.t_T - G.t_R) * (y - G.h_R) / (G.h_T - G.h_R));
  const front = (y) => (thick(y) - G.t_S) * MM - 0.04;
  let line = [];
  for (let k = 0; k < G.outline.length; k++) {
    const [y, b] = G.outline[k], [y0, b0] = G.outline[Math.max(k - 1, 0)];
    if (k && y0 < G.h_R && G.h_R < y) line.push([G.h_R, b0 + (b - b0) * (G.h_R - y0) / (y - y0)]);
    line.push([y, b]);
  }
  line = line.map(([y, b]) => ({y: (y - G.h_S) * MM, b: b * MM, f: front(y)}));
  for (let k = 0; k + 1 < line.length; k++) {
    const a = line[k], c = line[k + 1];
    for (const w of [1, -1]) {
      const side = [[rear, a.y, w * a.b], [a.f, a.y, w * a.b], [c.f, c.y, w * c.b], [rear, c.y, w * c.b]];
      if (w > 0) s.quad(...side, [1, dark, dark, 1]); else s.quad(...side.reverse(), [1, dark, dark, 1]);
    }
    if (c.y - a.y < 1e-6) continue;
    s.quad([a.f, a.y, a.b], [a.f, a.y, -a.b], [c.f, c.y, -c.b], [c.f, c.y, c.b], [0.8, 0.8, 0.8, 0.8]);
    s.quad([rear, a.y, -a.b], [rear, a.y, a.b], [rear, c.y, c.b], [rear, c.y, -c.b], [0.8, 0.8, 0.8, 0.8]);
  }
  const low = line[0], top = line[line.length - 1];
  s.quad([rear, low.y, -low.b], [low.f, low.y, -low.b], [low.f, low.y, low.b], [rear, low.y, low.b]);
  s.quad([rear, top.y, top.b], [top.f, top.y, top.b], [top.f, top.y, -top.b], [rear, top.y, -top.b], [1, dark, dark, 1]);
  const y = (G.h_H - G.h_S) * MM, f = front(G.h_H), n = 10;  // the pin
  for (let k = 0; k < n; k++) {
    const [p, q] = [k, k + 1].map((j) => [Math.cos(j * TURN / n), Math.sin(j * TURN / n)]);
    const at = (x, r, u) => [x, y + r * u[0], r * u[1]];
    const tip = f + G.pin_length * MM, R = G.r_P1 * MM, r = G.r_P2 * MM;
    s.quad(at(f, R, q), at(f, R, p), at(tip, r, p), at(tip, r, q), [0.7, 0.7, 1, 1]);
    s.quad(at(tip, 0, p), at(tip, r, q), at(tip, r, p), at(tip, 0, p));
  }
  return s.geometry();
}

/** A band of a closed line of m points: four corners of its section from y_0 to y_1 outwards and z_0 to z_1 across. */
function band(m, material) {
  const g = new THREE.BufferGeometry(), position = new Float32Array(m * 8 * 3), colour = new Float32Array(m * 8 * 3), index = [];
  for (let k = 0; k < m; k++) for (let f = 0; f < 4; f++) {  // faces have vertices of their own: edges are sharp
    const a = 8 * k + 2 * f, b = 8 * ((k + 1) % m) + 2 * f;
    index.push(a, b, a + 1, b, b + 1, a + 1);
  }
  g.setAttribute("position", new THREE.BufferAttribute(position, 3).setUsage(THREE.DynamicDrawUsage));
  g.setAttribute("normal", new THREE.BufferAttribute(new Float32Array(m * 8 * 3), 3).setUsage(THREE.DynamicDrawUsage));
  g.setAttribute("color", new THREE.BufferAttribute(colour, 3).setUsage(THREE.DynamicDrawUsage));
  g.setIndex(index);
  const mesh = new THREE.Mesh(g, material);
  mesh.frustumCulled = false;
  world.add(mesh);
  return {mesh, m,
    set(k, x, y, nx, ny, y0, y1, z0, z1, c) {
      const P = [[y0, z1], [y1, z1], [y1, z1], [y1, z0], [y1, z0], [y0, z0], [y0, z0], [y0, z1]];
      const normals = g.attributes.normal.array;
      for (let j = 0; j < 8; j++) {
        const at = (8 * k + j) * 3, f = j >> 1, out = f === 1 ? 1 : f === 3 ? -1 : 0;
        position[at] = x + nx * P[j][0]; position[at + 1] = y + ny * P[j][0]; position[at + 2] = P[j][1];
        normals[at] = out * nx; normals[at + 1] = out * ny; normals[at + 2] = f === 0 ? 1 : f === 2 ? -1 : 0;
        colour[at] = c[0]; colour[at + 1] = c[1]; colour[at + 2] = c[2];
      }
    },
    done() { for (const name of ["position", "normal", "color"]) g.attributes[name].needsUpdate = true; g.boundingSphere = null; }};
}

/** The curve along the belt: a wall from a line that goes round it, as high as the value. */
function wall(m) {
  const g = new THREE.BufferGeometry(), position = new Float32Array(m * 6), colour = new Float32Array(m * 6), index = [];
  for (let k = 0; k < m; k++) { const a = 2 * k, b = 2 * ((k + 1) % m); index.push(a, b, a + 1, b, b + 1, a + 1); }
  const crest = new THREE.BufferGeometry(), foot = new THREE.BufferGeometry(), along = (p) => p.setUsage(THREE.DynamicDrawUsage);
  g.setAttribute("position", along(new THREE.BufferAttribute(position, 3)));
  g.setAttribute("color", along(new THREE.BufferAttribute(colour, 3)));
  g.setIndex(index);
  const high = new Float32Array(m * 3), low = new Float32Array(m * 3);
  crest.setAttribute("position", along(new THREE.BufferAttribute(high, 3)));
  foot.setAttribute("position", along(new THREE.BufferAttribute(low, 3)));
  const group = new THREE.Group();
  group.add(new THREE.Mesh(g, new THREE.MeshBasicMaterial({vertexColors: true, side: THREE.DoubleSide, transparent: true, opacity: 0.72, depthWrite: false})));
  group.add(new THREE.LineLoop(crest, new THREE.LineBasicMaterial({color: 0xf3f6f9})));
  group.add(new THREE.LineLoop(foot, new THREE.LineBasicMaterial({color: 0x62707e})));
  group.traverse((o) => { o.frustumCulled = false; o.renderOrder = 3; });
  world.add(group);
  return {group,
    set(k, x, y, nx, ny, from, height, c) {
      for (const [j, r] of [[0, from], [1, from + height]]) {
        const at = (2 * k + j) * 3, line = j ? high : low;
        position[at] = line[3 * k] = x + nx * r; position[at + 1] = line[3 * k + 1] = y + ny * r; position[at + 2] = line[3 * k + 2] = 0;
        colour[at] = c[0]; colour[at + 1] = c[1]; colour[at + 2] = c[2];
      }
    },
    done() { for (const a of [g.attributes.position, g.attributes.color, crest.attributes.position, foot.attributes.position]) a.needsUpdate = true; }};
}
const HEIGHT = (drive ? 0.09 : 0.16) * d_A, steel = [0.34, 0.39, 0.45];

// --- the belt -------------------------------------------------------------------------------------------------------

let chosen = head.channels[0], selected = -1, now = 0, mode = null;
const picker = new THREE.Raycaster(), belt = drive ? driveBelt() : elements ? elementBelt() : cellBelt();

function elementBelt() {
  const N_E = head.tracks.x.width, N_B = head.tracks.ring_x.width, MORE = 4;
  const mesh = new THREE.InstancedMesh(elementShape(), new THREE.MeshLambertMaterial({vertexColors: true}), N_E);
  mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(3 * N_E), 3);
  mesh.frustumCulled = false;
  world.add(mesh);
  const halo = new THREE.Mesh(mesh.geometry, new THREE.MeshBasicMaterial({color: 0xffb454, side: THREE.BackSide}));
  halo.matrixAutoUpdate = halo.visible = false;
  world.add(halo);
  const silver = new THREE.MeshLambertMaterial({vertexColors: true, side: THREE.DoubleSide});
  const rings = [band(N_B * MORE, silver), band(N_B * MORE, silver)], fence = wall(N_E);
  const matrix = new THREE.Matrix4(), top = (G.outline[G.outline.length - 1][0] - G.h_S) * MM;
  const inner = G.pillar * MM + 0.3, outer = inner + G.ring_width * MM, half = 0.5 * G.ring_height * MM;
  const r = rows;
  return {
    pose(k) { return {x: r.x[k] * MM, y: r.y[k] * MM, phi: r.phi[k]}; },
    update(values, scale, on) {
      for (let k = 0; k < N_E; k++) {
        const c = Math.cos(r.phi[k]), s = Math.sin(r.phi[k]), x = r.x[k] * MM, y = r.y[k] * MM;
        if (r.z) {  // R_z(phi) R_y(yaw) R_x(roll), what is out of line magnified
          const a = G.across * r.yaw[k], b = G.across * r.roll[k], ca = Math.cos(a), sa = Math.sin(a), cb = Math.cos(b), sb = Math.sin(b);
          matrix.set(c * ca, c * sa * sb - s * cb, c * sa * cb + s * sb, x, s * ca, s * sa * sb + c * cb, s * sa * cb - c * sb, y,
            -sa, ca * sb, ca * cb, G.across * MM * r.z[k], 0, 0, 0, 1);
        } else matrix.set(c, -s, 0, x, s, c, 0, y, 0, 0, 1, 0, 0, 0, 0, 1);
        mesh.setMatrixAt(k, matrix);
        const colour = on === "element" ? shade(scale, values[k]) : steel;
        mesh.instanceColor.setXYZ(k, colour[0], colour[1], colour[2]);
        if (on === "element" && fence.group.visible) {
          const v = values[k] === values[k] ? values[k] : 0;
          fence.set(k, x, y, -s, c, top + 4 + (scale.signed ? 0.5 * HEIGHT : 0), HEIGHT * (scale.signed ? 0.5 : 1) * Math.max(-1.2, Math.min(1.2, v / scale.most)), colour);
        }
        if (k === selected) {
          halo.matrix.copy(matrix).multiply(new THREE.Matrix4().makeScale(1.22, 1.09, 1.05));
        }
      }
      halo.visible = selected >= 0;
      mesh.instanceMatrix.needsUpdate = mesh.instanceColor.needsUpdate = true;
      mesh.boundingSphere = null;
      if (fence.group.visible) fence.done();
      if (!rings[0].mesh.visible) return;
      const X = r.ring_x, Y = r.ring_y, P = (A, k) => A[(k + N_B) % N_B] * MM;
      for (let k = 0; k < N_B; k++) for (let j = 0; j < MORE; j++) {  // Catmull and Rom's curve through the nodes
        const t = j / MORE, w = [-t * (1 - t) ** 2, 2 - 5 * t * t + 3 * t ** 3, t + 4 * t * t - 3 * t ** 3, -t * t * (1 - t)].map((u) => u / 2);
        const d = [-1 + 4 * t - 3 * t * t, -10 * t + 9 * t * t, 1 + 8 * t - 9 * t * t, -2 * t + 3 * t * t];
        let x = 0, y = 0, dx = 0, dy = 0;
        for (let m = 0; m < 4; m++) {
          const a = P(X, k - 1 + m), b = P(Y, k - 1 + m);
          x += w[m] * a; y += w[m] * b; dx += d[m] * a; dy += d[m] * b;
        }
        const l = Math.hypot(dx, dy), nx = -dy / l, ny = dx / l;
        const colour = on === "ring" ? shade(scale, values[k]) : steel;
        const [z0, z1] = [r.ring_left, r.ring_right].map((z) => (z ? G.across * MM * (z[k] + t * (z[(k + 1) % N_B] - z[k])) : 0));
        rings[0].set(MORE * k + j, x, y, nx, ny, -half, half, inner + z0, outer + z0, colour);
        rings[1].set(MORE * k + j, x, y, nx, ny, -half, half, z1 - outer, z1 - inner, colour);
      }
      rings.forEach((ring) => ring.done());
    },
    show() { rings.forEach((ring) => { ring.mesh.visible = $("rings").checked; }); fence.group.visible = $("ribbon").checked && chosen.on === "element"; },
    pick() { const hit = picker.intersectObject(mesh)[0]; return hit ? hit.instanceId : -1; },
    place(k) { return `now on the ${PLACES[Math.max(0, Math.min(3, Math.floor(((r.place[k] % 4) + 4) % 4)))][0]}`; },
    count: N_E, word: "Element",
  };
}

/** What a belt drawn as a band has in common: poses of its places, the pin on the selected one, visibility, picking. */
function placesOn(body, fence, count, radius) {
  const pin = new THREE.Mesh(new THREE.SphereGeometry(radius, 20, 12), new THREE.MeshBasicMaterial({color: 0xffb454}));
  pin.visible = false;
  world.add(pin);
  const poses = Array.from({length: count}, () => ({x: 0, y: 0, phi: 0}));
  return {poses, pin, common: {
    count, word: "Place",
    pose(k) { return poses[k]; },
    show() { body.mesh.visible = $("rings").checked; fence.group.visible = $("ribbon").checked; },
    pick() {
      const hit = picker.intersectObject(body.mesh)[0];
      if (!hit) return -1;
      let best = -1, near = Infinity;
      poses.forEach((p, k) => { const d = Math.hypot(p.x - hit.point.x, p.y - hit.point.y); if (d < near) [best, near] = [k, d]; });
      return best;
    },
  }};
}

function cellBelt() {
  const cells = head.channels[0].track.width, per = cells / 4, MANY = 480;
  const body = band(MANY, new THREE.MeshLambertMaterial({vertexColors: true, side: THREE.DoubleSide})), fence = wall(cells);
  const {poses, pin, common} = placesOn(body, fence, cells, 3.2);
  let path = null;
  /** The taut path: lengths of its sections and the point at a place sigma, from the entry of the primary on. */
  function taut() {
    const [r_I, r_O] = [rows.radius[0] * MM, rows.radius[1] * MM];
    const phi = Math.acos(Math.max(-1, Math.min(1, (r_I - r_O) / d_A))), span = d_A * Math.sin(phi);
    const up = Math.PI / 2 - phi, down = up - 2 * (Math.PI - phi);  // direction on the slack and on the push span
    const arc = (x, r, psi) => ({x: x - r * Math.sin(psi), y: r * Math.cos(psi), phi: psi});
    const line = (a, b, f) => ({x: a.x + f * (b.x - a.x), y: a.y + f * (b.y - a.y), phi: a.phi});
    return {lengths: [2 * (Math.PI - phi) * r_I, span, 2 * phi * r_O, span], at(sigma) {
      const k = Math.min(3, Math.floor(sigma)), f = sigma - k;
      return k === 0 ? arc(d_A, r_I, up - 2 * (Math.PI - phi) * f) : k === 1 ? line(arc(d_A, r_I, down), arc(0, r_O, down), f)
        : k === 2 ? arc(0, r_O, down - 2 * phi * f) : line(arc(0, r_O, up), arc(d_A, r_I, up), f);
    }};
  }
  const under = -(G.h_P + 0.5 * G.ring_height) * MM, over = (G.outline[G.outline.length - 1][0] - G.h_P - 0.5 * G.ring_height) * MM;
  const half = G.z_P * MM;
  return {
    ...common,
    update(values, scale) {
      path = taut();
      const whole = path.lengths.reduce((a, b) => a + b), ends = [0];
      for (const l of path.lengths) ends.push(ends[ends.length - 1] + l);
      const stripe = whole / 44, gone = rows.way[0] * MM;
      for (let j = 0; j < MANY; j++) {
        const s = j / MANY * whole, k = [3, 2, 1, 0].find((m) => s >= ends[m]), sigma = k + (s - ends[k]) / path.lengths[k];
        const p = path.at(sigma), c = shade(scale, values[Math.min(cells - 1, Math.floor(sigma * per))]);
        const dim = ((s - gone) % (2 * stripe) + 2 * stripe) % (2 * stripe) < stripe ? 1 : 0.72;
        body.set(j, p.x, p.y, -Math.sin(p.phi), Math.cos(p.phi), under, over, -half, half, c.map((v) => v * dim));
      }
      body.done();
      for (let k = 0; k < cells; k++) {
        const p = Object.assign(poses[k], path.at((k + 0.5) / per)), v = values[k], nx = -Math.sin(p.phi), ny = Math.cos(p.phi);
        if (fence.group.visible) fence.set(k, p.x, p.y, nx, ny, over + 4 + (scale.signed ? 0.5 * HEIGHT : 0), HEIGHT * (scale.signed ? 0.5 : 1) * Math.max(-1.2, Math.min(1.2, v / scale.most)), shade(scale, v));
        if (k === selected) pin.position.set(p.x + nx * (over + 3), p.y + ny * (over + 3), 0);
      }
      pin.visible = selected >= 0;
      if (fence.group.visible) fence.done();
    },
    place(k) { return PLACES[Math.min(3, Math.floor((k + 0.5) / per))][0]; },
  };
}

/** The belt of a drive, through points of its line. */
function driveBelt() {
  const m = head.tracks.line_x.width, half = 0.06 * d_A * 0.5, thick = Math.max(G.height * MM, 0.008 * d_A);
  const body = band(m, new THREE.MeshLambertMaterial({vertexColors: true, side: THREE.DoubleSide})), fence = wall(m);
  const {poses, pin, common} = placesOn(body, fence, m, 0.014 * d_A);
  return {
    ...common,
    update(values, scale) {
      const X = rows.line_x, Y = rows.line_y;
      let whole = 0;
      const s = Array.from({length: m}, (_, k) => { const b = whole; whole += Math.hypot(X[(k + 1) % m] - X[k], Y[(k + 1) % m] - Y[k]); return b; });
      const stripe = whole / 2 / Math.round(whole * MM / (0.14 * d_A)), gone = rows.way[0];
      for (let k = 0; k < m; k++) {
        const dx = X[(k + 1) % m] - X[(k + m - 1) % m], dy = Y[(k + 1) % m] - Y[(k + m - 1) % m], l = Math.hypot(dx, dy) || 1;
        const nx = -G.turn * dy / l, ny = G.turn * dx / l, x = X[k] * MM, y = Y[k] * MM, v = values[k], c = shade(scale, v);
        const dim = ((s[k] - gone) % (2 * stripe) + 2 * stripe) % (2 * stripe) < stripe ? 1 : 0.72;
        body.set(k, x, y, nx, ny, -0.5 * thick, 0.5 * thick, -half, half, c.map((u) => u * dim));
        Object.assign(poses[k], {x, y, phi: Math.atan2(-nx, ny)});
        if (fence.group.visible) fence.set(k, x, y, nx, ny, thick + (scale.signed ? 0.5 * HEIGHT : 0), v === v ? HEIGHT * (scale.signed ? 0.5 : 1) * Math.max(-1.2, Math.min(1.2, v / scale.most)) : 0, c);
        if (k === selected) pin.position.set(x + nx * thick, y + ny * thick, 0);
      }
      pin.visible = selected >= 0;
      body.done();
      if (fence.group.visible) fence.done();
    },
    place(k) { return `${Math.round(100 * k / m)} % of the belt after ${G.pulleys[0].name}`; },
  };
}

// --- time -----------------------------------------------------------------------------------------------------------

const first = head.time[0], span = head.time[N - 1] - first;
const speeds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
const usual = speeds.reduce((a, b) => Math.abs(Math.log(b * span / 16)) < Math.abs(Math.log(a * span / 16)) ? b : a);
for (const s of speeds) $("speed").add(new Option(s === 1 ? "real time" : `${s} times slower`, s, s === usual, s === usual));
$("slider").max = span;
let playing = false, slower = usual, dirty = true, last = 0;

function seek(t) {
  now = Math.max(0, Math.min(span, t));
  $("slider").value = now;
  $("clock").textContent = span < 1 ? `${((first + now) * 1e3).toFixed(2)} ms` : `${(first + now).toFixed(3)} s`;
  dirty = true;
}
function play(on) { playing = on; if (on && now >= span) seek(0); $("play").classList.toggle("on", on); last = performance.now(); }

function frameAt() {
  const t = first + now;
  let low = 0, high = N - 1;
  while (high - low > 1) { const mid = (low + high) >> 1; if (head.time[mid] <= t) low = mid; else high = mid; }
  const wide = head.time[high] - head.time[low] || 1;
  return [low, Math.max(0, Math.min(1, (t - head.time[low]) / wide))];
}

function update() {
  const [a, t] = frameAt();
  for (const [name, track] of Object.entries(head.tracks)) row(track, a, t, rows[name]);
  const k = head.channels.indexOf(chosen), values = row(chosen.track, a, t, channelRows[k]);
  const solid = $("sheaves").value;
  for (const s of sheaves) {
    const near = solid === "half" && Math.sign(camera.position.z || 1) === s.side;
    s.holder.visible = solid !== "none";
    s.holder.position.z = s.side * rows.apex[s.pulley] * MM + (rows.shift ? G.across * MM * rows.shift[s.pulley] : 0);
    s.body.rotation.z = -rows.rotation[s.pulley];
    s.metal.opacity = near ? 0.13 : 1;
    s.metal.depthWrite = !near;
    s.signs.visible = !near;
    s.holder.renderOrder = near ? 2 : 0;
  }
  wheels.forEach((w, k) => {
    centres[k] = [rows.centre[2 * k] * MM, rows.centre[2 * k + 1] * MM];
    w.set(...centres[k], rows.rotation[k]);
    w.holder.visible = solid !== "none";
  });
  belt.show();
  belt.update(values, scales.get(chosen.name), chosen.on);
  if (mode === "follow") follow();
  putLabels();
}

function follow() {
  const p = belt.pose(Math.max(selected, 0)), out = [-Math.sin(p.phi), Math.cos(p.phi)], on = [Math.cos(p.phi), Math.sin(p.phi)];
  controls.target.set(p.x, p.y, 0);
  camera.up.set(out[0], out[1], 0);
  camera.position.set(p.x + 34 * out[0] + 46 * on[0], p.y + 34 * out[1] + 46 * on[1], 78);
}

// --- cameras --------------------------------------------------------------------------------------------------------

const wide = 1.0 * d_A, mid = drive ? extent.mid : [0.5 * d_A, 0, 0];
const from = (at, x, y, z) => [at, [at[0] + x * wide, at[1] + y * wide, z * wide]];
const VIEWS = drive ? {"All": from(mid, 0.7, 0.6, 2.7), "Front": from(mid, 0, 0, 2.9), ...Object.fromEntries(G.pulleys.slice(0, 8).map((p, k) =>
  [p.name, from([...centres[k], 0], 0.35, 0.35, 1.1)])), "Follow": null} : {
  "All": [mid, [0.5 * d_A + 0.9 * wide, 1.1 * wide, 2.75 * wide]],
  "Front": [mid, [0.5 * d_A, 0, 3.1 * wide]],
  "Top": [mid, [0.5 * d_A, 3.0 * wide, 0.35 * wide]],
  "Primary": [[d_A, 0, 0], [d_A + 0.6 * wide, 0.65 * wide, 1.5 * wide]],
  "Secondary": [[0, 0, 0], [-0.6 * wide, 0.65 * wide, 1.5 * wide]],
  "Push span": [[0.5 * d_A, -0.3 * d_A, 0], [0.5 * d_A, -0.62 * wide, 0.85 * wide]],
  "Follow": null,
};
function look(name) {
  mode = name === "Follow" ? "follow" : null;
  for (const b of $("cameras").children) b.classList.toggle("on", b.textContent === name);
  if (mode === "follow") { if (selected < 0) select(0); } else {
    const [target, from] = VIEWS[name], far = Math.max(1, 1.45 / camera.aspect);
    camera.up.set(0, 1, 0);
    controls.target.set(...target);
    camera.position.set(...from.map((v, k) => target[k] + (v - target[k]) * far));
  }
  controls.update();
  dirty = true;
}
for (const name of Object.keys(VIEWS)) {
  const b = document.createElement("button");
  b.textContent = name;
  b.onclick = () => look(name);
  $("cameras").append(b);
}
controls.addEventListener("start", () => { if (mode) look("All"); for (const b of $("cameras").children) b.classList.remove("on"); });
controls.addEventListener("change", () => { dirty = true; });

// --- panel ----------------------------------------------------------------------------------------------------------

const groups = {};
for (const c of head.channels) {
  if (!groups[c.group]) { groups[c.group] = document.createElement("optgroup"); groups[c.group].label = c.group; $("channel").append(groups[c.group]); }
  groups[c.group].append(new Option(c.label, c.name));
}
function choose(name) {
  chosen = head.channels.find((c) => c.name === name) ?? head.channels[0];
  $("channel").value = chosen.name;
  const scale = scales.get(chosen.name), bar = $("bar").getContext("2d"), image = bar.createImageData(256, 1);
  scale.shades.forEach((s, i) => image.data.set([...s.map((v) => Math.round(255 * v)), 255], 4 * i));
  bar.putImageData(image, 0, 0);
  $("low").textContent = worded(scale.low, chosen.unit);
  $("high").textContent = worded(scale.high, chosen.unit);
  $("unit").textContent = scale.signed ? "0" : "";
  dirty = true;
  charts();
}
function select(k) {
  selected = k;
  charts();
  dirty = true;
}

let drawn = [];
function charts() {
  const box = $("charts");
  box.replaceChildren();
  drawn = [];
  $("selected").textContent = selected < 0 ? `Click ${elements ? "an element" : "the belt"} for its forces over time` : `${belt.word} ${selected}`;
  $("places").replaceChildren();
  if (selected < 0) return;
  const mine = head.channels.filter((c) => c.on !== "ring" && (c.charted || c === chosen));
  for (const c of mine) {
    const area = document.createElement("canvas");
    area.title = c.label;
    area.onpointerdown = (e) => { play(false); seek(span * Math.max(0, Math.min(1, (e.offsetX - 68) / (area.clientWidth - 72)))); };
    box.append(area);
    drawn.push({c, area, still: null});
  }
  if (elements) for (const [name, colour] of PLACES) {
    const span = document.createElement("span"), chip = document.createElement("i");
    chip.style.background = colour;
    span.append(chip, name);
    $("places").append(span);
  }
  drawCharts();
}
function drawCharts() {
  const ratio = window.devicePixelRatio || 1;
  for (const d of drawn) {
    const w = d.area.clientWidth, h = d.area.clientHeight, x0 = 68, x1 = w - 4, y0 = h - 8, y1 = 20;
    const X = (f) => x0 + (x1 - x0) * (head.time[f] - first) / (span || 1);
    if (!d.still || d.still.width !== Math.round(w * ratio)) {
      d.area.width = Math.round(w * ratio);
      d.area.height = Math.round(h * ratio);
      const p = d.area.getContext("2d");
      p.scale(ratio, ratio);
      let low = 0, high = 0;
      for (let f = 0; f < N; f++) { const v = value(d.c.track, f, selected); if (v < low) low = v; if (v > high) high = v; }
      if (high - low < 1e-12) high = low + 1;
      const Y = (v) => y0 + (y1 - y0) * (v - low) / (high - low);
      if (elements) for (let f = 0; f + 1 < N; f++) {
        p.fillStyle = PLACES[Math.min(3, Math.floor(value(head.tracks.place, f, selected)))][1] + "38";
        p.fillRect(X(f), y1 - 2, X(f + 1) - X(f) + 0.3, y0 - y1 + 4);
      }
      p.font = '12px "Segoe UI", Helvetica, Arial, sans-serif';
      p.fillStyle = "#dde5ec";
      p.fillText(d.c.label, x0, 12);
      p.fillStyle = "#8a99a8";
      p.textAlign = "right";
      p.fillText(worded(high, d.c.unit), x0 - 5, y1 + 6);
      p.fillText(low < 0 ? worded(low, d.c.unit) : "0", x0 - 5, y0 + 3);
      p.strokeStyle = "#3a4755";
      p.beginPath(); p.moveTo(x0, Y(0)); p.lineTo(x1, Y(0)); p.stroke();
      p.strokeStyle = d.c === chosen ? "#ffb454" : "#7cc7f0";
      p.lineWidth = 1.2;
      p.beginPath();
      let on = false;
      for (let f = 0; f < N; f++) {
        const v = value(d.c.track, f, selected);
        if (v !== v) { on = false; continue; }
        if (on) p.lineTo(X(f), Y(v)); else p.moveTo(X(f), Y(v));
        on = true;
      }
      p.stroke();
      d.still = document.createElement("canvas");
      d.still.width = d.area.width; d.still.height = d.area.height;
      d.still.getContext("2d").drawImage(d.area, 0, 0);
    }
    const p = d.area.getContext("2d");
    p.setTransform(1, 0, 0, 1, 0, 0);
    p.clearRect(0, 0, d.area.width, d.area.height);
    p.drawImage(d.still, 0, 0);
    p.fillStyle = "#ffffff";
    p.fillRect(ratio * (x0 + (x1 - x0) * now / (span || 1)) - 0.5 * ratio, ratio * (y1 - 2), ratio, ratio * (y0 - y1 + 4));
  }
  if (selected >= 0) {
    $("selected").textContent = `${belt.word} ${selected}, ${belt.place(selected)}`;
  }
}

// --- input ----------------------------------------------------------------------------------------------------------

let down = null;
canvas.addEventListener("pointerdown", (e) => { down = [e.clientX, e.clientY]; });
canvas.addEventListener("pointerup", (e) => {
  if (!down || Math.hypot(e.clientX - down[0], e.clientY - down[1]) > 4) return;
  const box = canvas.getBoundingClientRect();
  picker.setFromCamera(new THREE.Vector2((e.clientX - box.left) / box.width * 2 - 1, 1 - (e.clientY - box.top) / box.height * 2), camera);
  select(belt.pick());
});
$("channel").onchange = (e) => choose(e.target.value);
$("speed").onchange = (e) => { slower = Number(e.target.value); };
$("slider").oninput = (e) => { play(false); seek(Number(e.target.value)); };
$("play").onclick = () => play(!playing);
for (const id of ["ribbon", "rings", "sheaves"]) $(id).onchange = () => { dirty = true; };
window.addEventListener("keydown", (e) => {
  if (e.target.matches("input, select, button")) return;
  if (e.key === " ") { play(!playing); e.preventDefault(); }
  if (e.key === "ArrowLeft" || e.key === "ArrowRight") { play(false); seek(now + (e.key === "ArrowLeft" ? -1 : 1) * span / (N - 1)); }
});
function resize() {
  const w = stage.clientWidth, h = stage.clientHeight;
  renderer.setSize(w, h, false);
  camera.aspect = w / Math.max(h, 1);
  camera.updateProjectionMatrix();
  drawn.forEach((d) => { d.still = null; });
  dirty = true;
}
new ResizeObserver(resize).observe(stage);

$("title").textContent = head.title;
for (const [name, about] of head.facts) {
  const pair = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
  dt.textContent = name; dd.textContent = about;
  pair.append(dt, dd);
  $("facts").append(pair);
}
$("note").textContent = head.note;
if (!elements) $("rings").parentElement.lastChild.textContent = " Belt";
if (drive) { $("sheaves").parentElement.firstChild.textContent = "Pulleys "; $("sheaves").options[0].remove(); }

const cost = {script: 0, frames: 0};  // [ms] of this page's own work, and frames that were drawn
let rate = 1 / 45, rest = 0, before = 0;  // [s] from one frame to the next, and frames since the resolution changed

/** Fewer pixels while it plays slower than 33 frames a second, all of them when it stands. */
function resolution(wait) {
  let wanted = fine;
  if (playing) {
    rate += 0.15 * (Math.min(wait, 0.5) - rate);
    rest += 1;
    if (rest > 12 && rate > 1 / 33) wanted = Math.max(0.5, fine * 0.8);
    if (rest > 90 && rate < 1 / 50) wanted = Math.min(finest, fine * 1.15);
  } else wanted = finest;
  if (wanted === fine) return;
  fine = wanted;
  rest = 0;
  renderer.setPixelRatio(fine);
  dirty = true;
}

function loop(at) {
  requestAnimationFrame(loop);
  resolution((at - before) / 1e3);
  before = at;
  if (playing) {
    const t = now + (at - last) / 1e3 / slower;
    last = at;
    seek(t > span ? 0 : t);
  } else last = at;
  controls.update();
  if (!dirty) return;
  dirty = false;
  const began = performance.now();
  update();
  drawCharts();
  cost.script += performance.now() - began;
  renderer.render(world, camera);
  cost.frames += 1;
}
resize();
seek(0);
choose(head.channels[0].name);
look("All");
window.belt = {seek, play, choose, select, look, cost, get fine() { return fine; }, get time() { return first + now; }, get selected() { return selected; },
  /** Where an element is on the screen [px]. */
  where(k) { const p = belt.pose(k), v = new THREE.Vector3(p.x, p.y, drive ? 0 : G.z_P * MM).project(camera), b = canvas.getBoundingClientRect();
    return [b.left + (v.x + 1) / 2 * b.width, b.top + (1 - v.y) / 2 * b.height]; }};
const wanted = location.hash.match(/^#frames=(\d+)x(\d+),(\d+),(\d+)$/);
if (wanted) pictures(...wanted.slice(1).map(Number)); else requestAnimationFrame(loop);
document.body.dataset.ready = "yes";

/** Frames from `one` to before `end` as pictures of w by h pixels, written into the page one a line. */
function pictures(w, h, one, end) {
  const page = document.createElement("canvas"), p = page.getContext("2d"), lines = [], u = h / 720;
  renderer.setPixelRatio(1);
  renderer.setSize(w, h, false);
  camera.aspect = w / h;
  camera.updateProjectionMatrix();
  look("All");
  page.width = w; page.height = h;
  const word = (t, x, y, size, colour, align = "left") => { p.font = `${size * u}px "Segoe UI", Helvetica, Arial, sans-serif`; p.fillStyle = colour; p.textAlign = align; p.fillText(t, x, y); };
  for (let f = one; f < Math.min(end, N); f++) {
    seek(head.time[f] - first);
    update();
    renderer.render(world, camera);
    p.fillStyle = "#131a22";
    p.fillRect(0, 0, w, h);
    p.drawImage(canvas, 0, 0, w, h);
    word(head.title, 24 * u, 38 * u, 22, "#e8eef4");
    word(head.note, 24 * u, 62 * u, 13, "#9fb0c0");
    word($("clock").textContent, w - 24 * u, 38 * u, 22, "#e8eef4", "right");
    p.drawImage($("bar"), 24 * u, h - 46 * u, 300 * u, 14 * u);
    word(`${chosen.label}: ${$("low").textContent} to ${$("high").textContent}`, 24 * u, h - 14 * u, 14, "#e8eef4");
    lines.push(page.toDataURL("image/png").slice(22));
  }
  const out = document.createElement("pre");
  out.id = "pictures";
  out.textContent = lines.join("\n");
  document.body.replaceChildren(out);
}
})().catch((error) => { $("note").textContent = `This page needs a browser with WebGL 2 (${error.message})`; document.body.dataset.ready = "no"; });
