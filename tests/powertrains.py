"""Random powertrains with tyres, a pump and laws: system files, and the equations of their documentation for scipy.

Nothing here calls a kernel of the package. Laws are sampled; between two internal steps of the system, over which
signals are constant, scipy integrates the other parts. Speeds of nodes depend on independent ones by a matrix R, so
that ``R' J R v' = R' tau``.
"""

import math
import operator
import re
from bisect import bisect
from importlib.resources import files

import numpy as np
from scipy.integrate import solve_ivp

__all__ = ["NODES", "Powertrain"]

NODES = {"crank": "engine.engine.w", "pump": "pump.pump.w", "hub": "clutch.clutch.w", "front": "vehicle.front.w",
         "rear": "vehicle.rear.w", "left": "centre.gear.b.w", "right": "centre.gear.d.w"}  # fmt: skip
GEARS = {"case": "e", "planet": "c", "left": "b", "right": "d"}
CONTINUOUS = re.compile(r"engine\.(engine\.([qzfs]|phi)|fuel\.m)|pump\.line\.p|(clutch|lock)\.clutch\.(phi|F|Q)"
                        r"|.*\.driveline\.phi|vehicle\.(vehicle\.[vsZ]|\w+\.(kappa|f)|tyres\.Q)")  # fmt: skip
SCALED = re.compile(r"engine\.engine\.(J|T_q|K_p|w_start)|pump\.(pump\.(D|k_l|w_start)|line\.T)|clutch\.clutch\.(K|J)"
                    r"|clutch\.clutch\.(F_max|T_a)|front\.driveline\.[iKd]|vehicle\.(vehicle\.(m|h|T_z)"
                    r"|tyre\.(sigma|K_1|F_z0))")  # fmt: skip
SHAFT_K, SHAFT_D = 4e3, 3.0
SIGNALS = {"w": ("engine.crank.w", "rad/s", 300.0), "tau": ("clutch.a.tau", "N.m", 100.0),
           "v": ("vehicle.vehicle.v", "m/s", 10.0), "slip": ("vehicle.front.slip", "1", 0.1),
           "p": ("pump.line.p", "Pa", 2e6), "cmd": ("tcu.pedal", "1", 1.0)}  # fmt: skip
TARGETS = {"pedal": ("engine.engine.pedal", "1", 0.0, 1.0), "u": ("clutch.clutch.u", "1", 0.0, 0.8),
           "p_1": ("pump.line.p_1", "Pa", 0.0, 6e6), "T_b": ("vehicle.brake.tau", "N.m", -900.0, 700.0),
           "lock": ("lock.clutch.u", "1", -0.5, 1.0)}  # fmt: skip
OPERATIONS = {
    "({} + {})": operator.add, "({} - {})": operator.sub, "{}*{}": operator.mul, "min({}, {})": min, "abs({})": abs,
    "max({}, {})": max, "sin(3*{})": lambda a: math.sin(3.0 * a), "{}/(1 + abs({}))": lambda a, b: a / (1.0 + abs(b)),
    "({} if {} < {} else {})": lambda a, b, c, d: a if b < c else d, "sqrt(abs({}))": lambda a: math.sqrt(abs(a)),
    "clip({}, -0.5, {})": lambda a, b: clip(a, -0.5, b), "exp(-abs({}))": lambda a: math.exp(-abs(a)),
    "log(1 + abs({}))": lambda a: math.log(1.0 + abs(a)),
}  # fmt: skip


def clip(x, low, high):
    return min(max(x, low), high)


def lookup(table, a, b):
    """Bilinear, with the values at the ends beyond them."""
    *axes, V = table
    i, j = (clip(bisect(axis, at) - 1, 0, len(axis) - 2) for axis, at in zip(axes, (a, b), strict=True))
    s, r = (clip((at - axis[k]) / (axis[k + 1] - axis[k]), 0.0, 1.0)
            for axis, at, k in zip(axes, (a, b), (i, j), strict=True))  # fmt: skip
    low, high = (V[k][j] + r * (V[k][j + 1] - V[k][j]) for k in (i, i + 1))
    return low + s * (high - low)


def grid(name, factors):
    """A table of the package: axes and values."""
    lines = files("rtcvt").joinpath("engine", name).read_text(encoding="utf-8").splitlines()
    a, b, values = np.array([line.split(",") for line in lines if line[0].isdigit()], float).T * factors
    a, b = np.unique(a), np.unique(b)
    return a.tolist(), b.tolist(), values.reshape(len(a), len(b)).tolist()


TORQUE = grid("gasoline_80kw_torque.csv", [[np.pi / 30.0], [1.0], [1.0]])
FUEL = grid("gasoline_80kw_fuel.csv", [[np.pi / 30.0], [1.0], [1e-3]])


# --- laws -------------------------------------------------------------------------------------------------------------


class Law:
    """A random law with each of the blocks: its table in a system file, and its samples."""

    def __init__(self, random, inputs, targets, h):
        self.inputs, self.random, self.due, self.y, self.blocks, self.outputs = inputs, random, 0.0, {}, {}, {}
        self.sample = float(random.choice([0.0, 2e-3, 5e-3]))
        self.h, self.names = self.sample or h, [f"({k}/{k}_n)" for k in inputs] + ["(t/t_n)"]
        lines = [f"sample = {self.sample!r}"] * bool(self.sample) + ["parameters.t_n = { value = 0.1, unit = 's' }"]
        for name, (_, unit, typical) in ((k, SIGNALS[k]) for k in inputs):
            lines.append(f"inputs.{name} = '{unit}'\nparameters.{name}_n = {{ value = {typical}, unit = '{unit}' }}")
        for block in [*random.permutation(["lag", "pi", "rate_limit", "hysteresis", "integral", "delay"]), "map"]:
            text, of = self.formula(3)
            name, (a, b, c) = f"B_{block}", (round(float(x), 3) for x in random.uniform(0.05, 0.6, 3))
            keys = {"lag": {"T": f"{a}*t_n"}, "pi": {"K_p": b, "K_i": f"{c}/t_n", "low": -a, "high": a},
                    "rate_limit": {"rise": f"{a}/t_n", "fall": f"{b}/t_n"}, "hysteresis": {"low": -a, "high": a},
                    "integral": {"low": -a, "high": b}, "delay": {"start": 0.25}, "map": {}}[str(block)]  # fmt: skip
            given = "".join(f", {k} = '{v}'" for k, v in keys.items())
            unit = "/t_n" if block == "integral" else ""
            table = f"axes = [[-1, 0.1, 1], [0, 1]], units = ['1', '1', '1'], values = [[0, {a}], [{b}, 0.5], [1, {c}]]"
            lines += [f"blocks.{name} = {{ block = '{block}', input = '{text}{unit}'{given} }}" if keys else
                      f"tables.map = {{ {table} }}\nequations.{name} = 'lookup(map, {text}, B_pi)'"]  # fmt: skip
            self.blocks[name] = block, of, a, b, c
            self.names.append(name)
        for name, (_, unit, low, high) in ((k, TARGETS[k]) for k in targets):
            text, of = self.formula(2)
            chosen = str(random.choice([*self.blocks]))
            value = f"clip({name}_0 + {name}_1*(abs({text}) + {chosen}), {name}_l, {name}_h)"
            lines.append(f"outputs.{name} = {{ value = '{value}', unit = '{unit}' }}")
            for key, number in (("0", low), ("1", high - low), ("l", max(low, 0.0)), ("h", high)):
                lines.append(f"parameters.{name}_{key} = {{ value = {number}, unit = '{unit}' }}")
            self.outputs[name] = of, chosen, low, high
        self.text, self.x = "\n".join(lines), dict.fromkeys(self.blocks, 0.0) | {"B_delay": 0.25}

    def formula(self, depth):
        """A random expression of the names so far as text and as a function of their values."""
        if depth == 0 or self.random.random() < 0.1:
            name, value = str(self.random.choice(self.names)), round(float(self.random.uniform(0.1, 2.0)), 3)
            return (repr(value), lambda env: value) if self.random.random() < 0.25 else (name, lambda env: env[name])
        text = str(self.random.choice([*OPERATIONS]))
        parts = [self.formula(depth - 1) for _ in range(text.count("{}"))]
        return text.format(*(t for t, _ in parts)), lambda env: OPERATIONS[text](*(f(env) for _, f in parts))

    def act(self, t, h, signals):
        """Set the outputs `y` over an internal step h from t."""
        is_due = self.due <= 1e-6 * self.sample
        self.due = max(self.due + self.sample * is_due - h, 0.0)
        if not is_due:
            return
        env, H, new = {f"({k}/{k}_n)": signals[k] / SIGNALS[k][2] for k in self.inputs}, self.h / 0.1, {}
        env["(t/t_n)"] = t / 0.1
        for name, (block, of, a, b, c) in self.blocks.items():
            e, x = of(env), self.x[name]
            value, new[name] = x, e
            if block == "lag":
                new[name] = x + (e - x) * H / (a + H)
            elif block == "integral":
                new[name] = clip(x + H * e, -a, b)
            elif block == "pi":
                value, outwards = clip(b * e + x, -a, a), (c * e > 0.0) if b * e + x > 0.0 else (c * e < 0.0)
                new[name] = x if value != b * e + x and outwards else x + H * c * e
            elif block == "rate_limit":
                new[name] = x + clip(e - x, -b * H, a * H)
            elif block == "hysteresis":
                new[name] = value = 1.0 if e > a else 0.0 if e < -a else x
            elif block == "map":
                value = lookup(([-1.0, 0.1, 1.0], [0.0, 1.0], [[0.0, a], [b, 0.5], [1.0, c]]), e, env["B_pi"])
            env[name] = value
        self.x = new
        for name, (of, chosen, low, high) in self.outputs.items():
            self.y[name] = clip(low + (high - low) * (abs(of(env)) + env[chosen]), max(low, 0.0), high)


# --- powertrains ------------------------------------------------------------------------------------------------------


class Powertrain:
    """A random engine with pump and clutch, one or two final drives and a car on tyres, under two laws."""

    def __init__(self, seed, h=1e-3):
        random = np.random.default_rng(seed)
        self.h, self.drive, self.shaft = h, str(random.choice(["front", "rear", "all", "split"])), random.random() < 0.5
        split = self.drive == "split"
        self.laws = {"tcu": Law(random, ["w", "tau", "v", "slip"], ["pedal", "u"], h),
                     "valves": Law(random, ["p", "cmd", "w"], ["p_1", "T_b"] + ["lock"] * split, h)}  # fmt: skip
        connect = ["pump.shaft - clutch.a"] if self.shaft else ["engine.crank - pump.shaft - clutch.a"]
        wheels = self.drive.replace("all", "front - vehicle.rear")
        connect += ["clutch.b - front.shaft", f"front.axle - vehicle.{wheels}"] if not split else [
            "clutch.b - centre.pinion", "centre.left - lock.a - front.shaft", "centre.right - lock.b - rear.shaft",
            "front.axle - vehicle.front", "rear.axle - vehicle.rear"]  # fmt: skip
        for name, law in self.laws.items():
            connect += [f"{SIGNALS[k][0]} -> {name}.{k}" for k in law.inputs]
            connect += [f"{name}.{k} -> {TARGETS[k][0]}" for k in law.outputs]
        self.units = {"engine": "engine", "pump": "cvt_pump", "clutch": "clutch", "front": "driveline",
                      "vehicle": "vehicle_tyres"}  # fmt: skip
        self.units |= {"rear": "driveline", "centre": "differential", "lock": "clutch"} if split else {}
        text = [f"name = 'random'\nkind = 'system'\nconnect = {connect}\nsolver.step = {h!r}"]
        half = f"between = ['engine.crank', 'clutch.a'], K = {SHAFT_K}, d = {SHAFT_D}"
        text += [f"shafts.half = {{ {half} }}"] * self.shaft + ["[components]"]
        text += [f"{name} = {{ unit = '{unit}' }}" for name, unit in self.units.items()]
        self.text = "\n".join([*text, *(f"[components.{k}.law]\n{law.text}" for k, law in self.laws.items())])
        self.factor, pulses = (lambda: random.uniform(0.7, 1.3)), random.random() < 0.4
        self.given = {"vehicle.road.mu": random.uniform(0.1, 1.0), "vehicle.road.slope": random.uniform(-0.1, 0.2),
                      "vehicle.vehicle.v_start": random.uniform(-2.0, 15.0) * (random.random() < 0.5),
                      "engine.engine.stop": float(random.random() < 0.2), "engine.engine.a": 0.5 * pulses,
                      "engine.engine.tau_k": 15.0 * pulses, "engine.engine.J_2": 0.01 * pulses}  # fmt: skip

    def start(self, one):
        """Start an instance; the start state, which has its own values except for speeds: these keep the momentum."""
        own = [v.name for v in one.model.variables if v.causality == "parameter"]
        for name, value in ({n: one.get(n) * self.factor() for n in own if SCALED.fullmatch(n)} | self.given).items():
            one.set(name, value)
        p = {name: one.get(name) for name in own}
        self.p = {c: {k.rpartition(".")[2]: v for k, v in p.items() if k.startswith(f"{c}.")} for c in self.units}
        self.drags = {k.removeprefix("centre."): v for k, v in p.items() if re.fullmatch(r"centre\..*\.b", k)}
        one.initialise()
        car, front, clutch = self.p["vehicle"], self.p["front"], self.p["clutch"]
        J = {"crank": self.p["engine"]["J"], "pump": self.p["pump"]["J"], "front": car["J_w"], "rear": car["J_w"]}
        start = {k: self.p[name]["w_start"] for k, name in (("crank", "engine"), ("pump", "pump"))}
        start |= dict.fromkeys(["front", "rear"], car["v_start"] / car["r_w"])
        R = {node: {node: 1.0} for node in ("crank", "pump", "front", "rear")}
        R |= {} if self.shaft else {"pump": {"crank": 1.0}}
        R |= {"rear": {"front": 1.0}} if self.drive == "all" else {}
        if self.drive == "split":
            half, turn = 0.5 * 135.0 / 36.0, 0.5 * 39.0 / 30.0  # by the radii of crown and pinion, axle gear and planet
            R |= {"hub": {"left": half, "right": half}, "case": {"left": 0.5, "right": 0.5},
                  "planet": {"left": -turn, "right": turn}, "left": {"left": 1.0}, "right": {"right": 1.0}}  # fmt: skip
            J |= {"hub": clutch["J"] + p["centre.gear.a.J"]} | {k: p[f"centre.gear.{g}.J"] for k, g in GEARS.items()}
            J["left"] += front["J"]
            J["right"] += self.p["rear"]["J"] + self.p["lock"]["J"]
        else:
            R["hub"], J["hub"] = {"hub": 1.0}, clutch["J"] + front["J"]
        self.nodes, self.J, free = [*J], np.array([*J.values()]), dict.fromkeys(k for row in R.values() for k in row)
        self.R, self.n = np.array([[R[node].get(k, 0.0) for k in free] for node in J]), len(free)
        states = {v.name: x for v, x in zip(one.model.states, one.x, strict=True) if CONTINUOUS.fullmatch(v.name)}
        self.names = [*states, *["half"] * self.shaft]
        momentum = self.inertia(0.0) * np.array([start.get(node, 0.0) for node in J])
        return np.array([*self.speeds(0.0, momentum), *states.values(), *[0.0] * self.shaft])

    def inertia(self, phi):
        return self.J - np.eye(len(self.J))[0] * self.p["engine"]["J_2"] * math.cos(2.0 * phi)

    def speeds(self, phi, momentum):
        """Independent speeds of momenta of the nodes, or accelerations of torques."""
        return np.linalg.solve(self.R.T @ (self.inertia(phi)[:, None] * self.R), self.R.T @ momentum)

    def named(self, x):
        """Speeds of the nodes, and the other states."""
        return (dict(zip(self.nodes, (self.R @ x[: self.n]).tolist(), strict=True)),
                dict(zip(self.names, x[self.n :].tolist(), strict=True)))  # fmt: skip

    def rates(self, t, x, u):
        """x' with the signals u; x has the independent speeds, then the states `names`."""
        (w, s), p, tau, dx = self.named(x), self.p, dict.fromkeys(self.nodes, 0.0), {}
        engine(p["engine"], s, w["crank"], u["pedal"], self.given["engine.engine.stop"], tau, dx)
        pump(p["pump"], s, w["pump"], u["p_1"], tau, dx)
        clutch("clutch", p, s, w, u["u"], tau, dx, "pump", "hub")
        if self.shaft:
            dx["half"] = w["crank"] - w["pump"]
            torque = SHAFT_K * s["half"] + SHAFT_D * dx["half"]
            tau["crank"], tau["pump"] = tau["crank"] - torque, tau["pump"] + torque
        if self.drive == "split":
            clutch("lock", p, s, w, u["lock"], tau, dx, "left", "right")
            driveline("front", p, s, w, tau, dx, "left", "front")
            driveline("rear", p, s, w, tau, dx, "right", "rear")
            for node, gear in [*GEARS.items(), ("hub", "a")]:
                tau[node] -= self.drags[f"gear.{gear}.b"] * w[node]
            for node, pair in (("left", "eb"), ("right", "ed")):
                drag = self.drags[f"friction.{pair}.b"] * (w["case"] - w[node])
                tau["case"], tau[node] = tau["case"] - drag, tau[node] + drag
        else:
            driveline("front", p, s, w, tau, dx, "hub", "rear" if self.drive == "rear" else "front")
        tyres(p["vehicle"], s, w, u["T_b"], self.given["vehicle.road.slope"], tau, dx)
        return np.array([*self.speeds(s["engine.engine.phi"], np.array([*tau.values()])), *(dx[k] for k in self.names)])

    def run(self, x, duration):
        """States and speeds by their names in the system, after each internal step."""
        u, rows = {}, []
        for k in range(round(duration / self.h)):
            w, s = self.named(x)
            measured = {"w": w["crank"], "tau": clutch_torque("clutch", self.p, s, w["pump"], w["hub"]),
                        "v": s["vehicle.vehicle.v"], "p": s["pump.line.p"],
                        "slip": slip(self.p["vehicle"], s, w["front"], "front")}  # fmt: skip
            for law in self.laws.values():
                law.act(k * self.h, self.h, measured | {"cmd": u.get("pedal", 0.0)})
                u |= law.y
            x = solve_ivp(self.rates, (0.0, self.h), x, "LSODA", rtol=1e-8, atol=1e-8, args=(u,)).y[:, -1]
            w, s = self.named(x)
            rows.append({NODES[node]: speed for node, speed in w.items() if node in NODES} | s)
        return {name: np.array([row[name] for row in rows]) for name in rows[0] if name != "half"}


def sticking(f, d, w, J, c):
    """Torque of friction of the capacity c, and the rate of its spring."""
    e = f + d * w
    F = clip(e, -c, c)
    return F, d * d / (4.0 * J) * w if abs(e) < c else d / (4.0 * J) * (F - f)


def engine(p, s, w, pedal, stop, tau, dx):
    """The engine; adds its torque at the crank."""
    q, z, f, starter, phi = (s[f"engine.engine.{k}"] for k in ("q", "z", "f", "s", "phi"))
    C, share = p["tau_c"], clip(w / TORQUE[0][0], -1.0, 1.0)
    D, T, full = (sign * lookup(TORQUE, abs(w), at) * share for sign, at in ((-1.0, 0.0), (1.0, pedal), (1.0, 1.0)))
    F, dx["engine.engine.f"] = sticking(f, C / 1.0, w, p["J"], C)  # w_c = 1 rad/s
    whole = D - C * share + F
    idle = 0.0 if stop else clip(p["K_p"] * (p["w_idle"] - w) + z, 0.0, p["tau_idle"])
    wanted = 0.0 if stop or w <= 0.0 else clip(T + D + idle, 0.0, full + D)
    crank = 0.0 if stop else p["tau_starter"] * clip(1.0 - w / p["w_starter"], 0.0, 1.0)
    tau["crank"] += q * (1.0 + p["a"] * math.cos(p["n"] * phi)) - p["tau_k"] * math.sin(p["n"] * phi) + starter
    tau["crank"] -= whole + p["J_2"] * math.sin(2.0 * phi) * w * w
    flow = 0.0
    if w > 0.0 and q > 0.0:
        flow = lookup(FUEL, w, max(q - whole, 0.0)) * (q / whole if q < whole else 1.0)
        flow *= min(w / FUEL[0][0], 1.0) * max(w / FUEL[0][-1], 1.0)
    dx |= {"engine.engine.q": (wanted - q) / p["T_q"], "engine.engine.z": (idle - z) / p["T_i"], "engine.fuel.m": flow,
           "engine.engine.s": (crank - starter) / p["T_starter"],
           "engine.engine.phi": w if max(p["a"], p["tau_k"], p["J_2"]) > 0.0 else 0.0}  # fmt: skip


def pump(p, s, w, p_1, tau, dx):
    """Pump and line; adds its torque at its node."""
    wanted = max(min(max(p_1, 0.0) + p["dp"], p["p_max"]), p["p_min"])
    carried = max(p["D"] * w - p["Q_0"], 0.0) / p["k_l"]
    tau["pump"] -= p["D"] * s["pump.line.p"] / p["eta"] * clip(w / p["w_r"], 0.0, 1.0) + p["b"] * w
    dx["pump.line.p"] = (min(wanted, carried) - s["pump.line.p"]) / p["T"]


def clutch_torque(name, p, s, w_a, w_b):
    """Torque of a clutch."""
    p = p[name]
    r_m = 2.0 / 3.0 * (p["r_o"] ** 3 - p["r_i"] ** 3) / (p["r_o"] ** 2 - p["r_i"] ** 2)
    C = p["mu"] * p["z"] * r_m * s[f"{name}.clutch.F"]
    return clip(p["K"] * s[f"{name}.clutch.phi"] + p["d"] * (w_a - w_b), -C, C)


def clutch(name, p, s, w, u, tau, dx, a, b):
    """A clutch between the nodes a and b."""
    torque, p = clutch_torque(name, p, s, w[a], w[b]), p[name]
    rate = (torque - p["K"] * s[f"{name}.clutch.phi"]) / p["d"]
    tau[a], tau[b] = tau[a] - torque, tau[b] + torque - p["b"] * w[b]
    dx |= {f"{name}.clutch.phi": rate, f"{name}.clutch.F": (u * p["F_max"] - s[f"{name}.clutch.F"]) / p["T_a"],
           f"{name}.clutch.Q": torque * (w[a] - w[b] - rate)}  # fmt: skip


def driveline(name, p, s, w, tau, dx, shaft, axle):
    """Final drive and half-shafts between the nodes `shaft` and `axle`."""
    p, twist = p[name], w[axle] - w[shaft] / p[name]["i"]
    torque, sigma = p["K"] * s[f"{name}.driveline.phi"] + p["d"] * twist, w[shaft] / math.hypot(w[shaft], p["w_0"])
    tau[axle] -= torque
    tau[shaft] += (torque - p["mu"] * abs(torque) * sigma) / p["i"] - p["tau_0"] * sigma - p["b"] * w[shaft]
    dx[f"{name}.driveline.phi"] = twist


def slip(p, s, w, axle):
    """kappa_d of an axle's tyres."""
    v, v_w = s["vehicle.vehicle.v"], p["r_w"] * w
    q = max(1.0 - max(abs(v), abs(v_w)) / p["v_low"], 0.0)
    return s[f"vehicle.{axle}.kappa"] + p["T_d"] * q * q * (v_w - v) / p["sigma"]


def magic(p, F_z, kappa):
    """Force of an axle's tyres, and its share of that with the slip stiffness at no slip."""
    if not F_z > 0.0:
        return 0.0, 1.0
    df, C = clip(F_z / (2.0 * p["F_z0"]) - 1.0, -1.0, 2.0), p["C"]
    D, BCD = p["mu"] * (p["D_1"] + p["D_2"] * df) * F_z, (p["K_1"] + p["K_2"] * df) * F_z
    z = BCD / (C * D) * kappa
    F = D * math.sin(C * math.atan(z - p["E"] * (z - math.atan(z))))
    return F, F / (BCD * kappa) if kappa else 1.0


def tyres(p, s, w, T_b, slope, tau, dx):
    """The car on its axles."""
    v, Z, r, length = s["vehicle.vehicle.v"], s["vehicle.vehicle.Z"], p["r_w"], p["l_f"] + p["l_r"]
    weight, d = p["m"] * p["g"] / math.hypot(1.0, slope), p["J_w"] * 9.80665 / p["v_0"]
    pull, lost = -0.5 * p["rho_cw_A"] * v * abs(v), 0.0
    for axle, lever, side, share in (("front", "l_r", -1.0, p["b_f"]), ("rear", "l_f", 1.0, 1.0 - p["b_f"])):
        F_z, V_s = max(weight * p[lever] / length + side * Z, 0.0), r * w[axle] - v
        F, kappa = magic(p, F_z, slip(p, s, w[axle], axle))[0], s[f"vehicle.{axle}.kappa"]
        capacity = share * max(T_b, 0.0) + p["f_R"] * F_z * r
        T, dx[f"vehicle.{axle}.f"] = sticking(s[f"vehicle.{axle}.f"], d, w[axle], p["J_w"], capacity)
        pull, lost, tau[axle] = pull + F, lost + F * V_s, tau[axle] - r * F - T
        relaxation = p["sigma"] * max(magic(p, F_z, kappa)[1], 0.01)
        dx[f"vehicle.{axle}.kappa"] = (V_s - max(abs(v), r * abs(w[axle])) * kappa) / relaxation
    dx |= {"vehicle.vehicle.v": (pull - weight * slope) / p["m"], "vehicle.vehicle.s": v, "vehicle.tyres.Q": lost,
           "vehicle.vehicle.Z": (p["h"] / length * pull - Z) / p["T_z"]}  # fmt: skip
