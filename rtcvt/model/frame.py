"""The frame of a part: of its tables and equations, the kernels of `rtcvt.model` and the places in ``work``.

The module of a part has the tables ``P``, ``U``, ``X`` and ``Y`` (`rtcvt.table`) and four kernels::

    start(p, data, u, x) -> bool             start state; False if the parameters are inconsistent
    rates(t, x, u, p, data, dx)              right-hand side of x' = f(x, u)
    df_dx(x, u, p, data, jac)                entries of df/dx that are not zero, row-major
    output(t, x, u, p, data, y, work)        outputs

It ends with ``framed(vars())``, which adds `initialise`, `derivative`, `jacobian`, `linearise` and `step`: copies of
the functions below that call the part's kernels. A part that others can be coupled to names its shafts,
``framed(vars(), flanges={U.TAU: Shaft(X.W, P.J)})``, or has its own `flange`, `port` and, where f has kinks, `piece`
(`rtcvt.model.Coupling`). Further kernels are optional::

    limited(x, u, p, data) -> bool                   whether a limit is active after a step, whose status is then 1
    after_step(h, old, x, u, p, data, smooth)        corrects the state after an internal step from `old`; `smooth` is
                                                     False if the step crossed from one piece to another
    advance(t, h, x, u, p, data, work)               an internal step, instead of RODAS3; df_dx may then be left out
    n_outputs(data) -> int                           number of outputs, where it depends on the unit

``data[0]`` is the largest internal step [s].

A part that extends another one has the tables of that one with more rows, `extended`, and ends with
``derived(vars(), base)`` before `framed`: what it does not define is that of the base, and what it does define is used
by all equations of the base, too.
"""

from collections.abc import Collection, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from rtcvt.kernel import FAILED, OK, SATURATED, kernel
from rtcvt.model.stepping import enter, leave, start_status
from rtcvt.numerics.integrators import STAGES, rosenbrock_matrix, rosenbrock_new, rosenbrock_solve, rosenbrock_stage

# Each part has numbers of its own: of states, inputs and outputs, of its shafts, and the places in `work` (`_places`).
N_X = N_U = N_Y = 0
W_F = W_STAGE = W_K = W_B = W_PIVOT = W_MATRIX = W_JAC = W_SAVED = W_Y = N_WORK = 0
INPUT_1 = STATE_1 = INERTIA_1 = STATE_2 = INERTIA_2 = 0
SIGN_1 = SIGN_2 = 0.0


class Shaft(NamedTuple):
    """A flange with a torque as input and the speed of an inertia as output.

    Attributes
    ----------
    speed, inertia : int
        Places of the speed among the states and of the inertia among the parameters.
    sign : float
        1 if the torque goes into the part, -1 if it is a load.
    """

    speed: int
    inertia: int
    sign: float = 1.0


# --- optional kernels of a part ---------------------------------------------------------------------------------------


@kernel
def limited(x, u, p, data):
    """No limits."""
    return False


@kernel
def after_step(h, old, x, u, p, data, smooth):
    """No correction."""


@kernel
def piece(x, u, p, data, work):
    """No kink that is worth a step of its own."""
    return 0.0


# --- the frame, copied for each part ----------------------------------------------------------------------------------


def start(p, data, u, x):
    """Of the part."""
    return True


def rates(t, x, u, p, data, dx):
    """Of the part."""


def df_dx(x, u, p, data, jac):
    """Of the part."""


def output(t, x, u, p, data, y, work):
    """Of the part."""


def initialise(p, data, u, x, work):
    """Start state; fails if the parameters are inconsistent or a rate is not finite."""
    if not start(p, data, u, x):
        return FAILED
    dx = work[W_F : W_F + N_X]
    rates(0.0, x, u, p, data, dx)
    return start_status(N_X, x, dx)


def derivative(t, x, u, p, data, dx, work):
    """Right-hand side."""
    rates(t, x, u, p, data, dx)


def jacobian(t, x, u, p, data, jac, work):
    """Exact ``df/dx``, row-major, inputs held."""
    for i in range(N_X * N_X):
        jac[i] = 0.0
    df_dx(x, u, p, data, jac)


def linearise(t, x, u, p, data, f, jac, work):
    """Right-hand side and ``df/dx``."""
    rates(t, x, u, p, data, f)
    jacobian(t, x, u, p, data, jac, work)


def flange(k, x, u, p, data, work):
    """Speed of a shaft."""
    return x[STATE_1] if k == INPUT_1 else x[STATE_2]


def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`."""
    for i in range(N_X):
        row[i] = 0.0
        column[i] = 0.0
    if k == INPUT_1:
        row[STATE_1] = 1.0
        column[STATE_1] = SIGN_1 / p[INERTIA_1]
    else:
        row[STATE_2] = 1.0
        column[STATE_2] = SIGN_2 / p[INERTIA_2]
    return 0.0


def n_outputs(data):
    """Number of outputs."""
    return N_Y


def advance(t, h, x, u, p, data, work):
    """One internal step in place, see `rtcvt.numerics.integrators`."""
    f = work[W_F : W_F + N_X]
    x_stage = work[W_STAGE : W_STAGE + N_X]
    k = work[W_K : W_K + 4 * N_X]
    jac = work[W_JAC : W_JAC + N_X * N_X]
    rates(t, x, u, p, data, f)
    jacobian(t, x, u, p, data, jac, work)
    rosenbrock_matrix(N_X, h, jac, work, W_MATRIX, W_PIVOT)
    first = piece(x, u, p, data, work)
    smooth = True
    for s in range(STAGES):
        if s >= 2:  # the first two stages are at x
            rosenbrock_stage(s, N_X, x, k, x_stage)
            rates(t, x_stage, u, p, data, f)
            if piece(x_stage, u, p, data, work) != first:
                smooth = False
        rosenbrock_solve(s, N_X, h, f, k, work, W_MATRIX, W_PIVOT, W_B)
    for i in range(N_X):
        x_stage[i] = x[i]
    rosenbrock_new(N_X, x, k)
    if piece(x, u, p, data, work) != first:
        smooth = False
    after_step(h, x_stage, x, u, p, data, smooth)


def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the part's own."""
    saved = work[W_SAVED : W_SAVED + N_X]
    steps = enter(t, h, data[0], N_U, u, N_X, x, saved)
    if steps == 0:
        return FAILED
    for k in range(steps):
        advance(t + k * (h / steps), h / steps, x, u, p, data, work)
    n_y = n_outputs(data)
    y_new = work[W_Y : W_Y + n_y]
    output(t + h, x, u, p, data, y_new, work)
    status = leave(True, N_X, x, saved, n_y, y_new, y)
    return SATURATED if status == OK and limited(x, u, p, data) else status


# --- parts that extend others -----------------------------------------------------------------------------------------


def extended(table: Any, module: str, without: Collection[str] = (), **more: Any) -> Any:
    """A table with the rows of another one, less those of the names `without`, and `more` rows; `module` is its own."""
    rows = {row.name: getattr(row, "row", None) or (row.text, row.block) for row in table if row.name not in without}
    return table.__bases__[0](table.__name__, {**rows, **more}, module=module)


def derived(part: dict[str, Any], base: ModuleType) -> None:
    """Add to a module the kernels of a base that it lacks, copied so that they call its own.

    Where it has its own, the base's is copied to the name ``base_NAME``, if it is imported by that name. Any other
    kernel that it imports from the base is replaced by the copy.

    Parameters
    ----------
    part : dict
        ``vars()`` of the module.
    base : module
        Of the part that it extends.
    """
    for name, value in vars(base).items():
        python: Any = getattr(value, "py_func", None)
        if getattr(python, "__module__", "") != base.__name__:
            if not name.startswith("__"):
                part.setdefault(name, value)
        elif python.__code__.co_filename == base.__file__:  # not one of this frame
            own: Any = getattr(part.get(name), "py_func", None)
            target = name if own is None or own.__module__ == base.__name__ else f"base_{name}"
            if target == name or target in part:
                part[target] = kernel(FunctionType(python.__code__, part, target))


# --- framing ----------------------------------------------------------------------------------------------------------


def framed(part: dict[str, Any], flanges: Mapping[int, Shaft] | None = None, needs: str = "") -> None:
    """Complete the module of a part.

    Parameters
    ----------
    part : dict
        ``vars()`` of its module.
    flanges : mapping of int to Shaft, optional
        At most two shafts, by the place of their torque among the inputs.
    needs : str, optional
        What `start` requires of the parameters, for its error.

    Raises
    ------
    TypeError
        The module lacks a table or a kernel.
    """
    needed = ["X", "Y", "start", "rates", "output", *(["df_dx"] if "advance" not in part else [])]
    missing = [name for name in needed if name not in part]
    if missing:
        raise TypeError(f"{part['__name__']}: a part needs {', '.join(missing)}, see rtcvt.model.frame")
    part["needs"] = needs
    part.update(_places(len(part["X"]), len(part.get("U", ())), len(part["Y"])))
    made = [n_outputs, initialise, derivative, advance, step]
    if "df_dx" in part:
        made[3:3] = [jacobian, linearise]
    if flanges:
        shafts = list(flanges.items())
        for i, (k, (speed, inertia, sign)) in enumerate((shafts[0], shafts[-1]), 1):
            part.update({f"INPUT_{i}": int(k), f"STATE_{i}": int(speed)})
            part.update({f"INERTIA_{i}": int(inertia), f"SIGN_{i}": sign})
        made += [flange, port]
    wanted = [function for function in made if function.__name__ not in part]
    copied = {function.__name__ for function in wanted}
    for function in wanted:
        for used in function.__code__.co_names:
            if used in globals() and used not in copied:
                part.setdefault(used, globals()[used])
        part[function.__name__] = kernel(FunctionType(function.__code__, part, function.__name__))
    if "port" in part:
        part.setdefault("piece", piece)


def _places(n_x: int, n_u: int, n_y: int) -> dict[str, int]:
    """Sizes, and places in ``work`` by name; the outputs are last, since a unit may add outputs."""
    blocks = {
        "W_F": n_x,  # right-hand side
        "W_STAGE": n_x,  # state of a stage, then the state before the internal step
        "W_K": 4 * n_x,  # increments of the stages
        "W_B": n_x,
        "W_PIVOT": n_x,
        "W_MATRIX": n_x * n_x,
        "W_JAC": n_x * n_x,
        "W_SAVED": n_x,  # state before the communication step
        "W_Y": n_y,
    }
    places = {name: sum(list(blocks.values())[:k]) for k, name in enumerate(blocks)}
    return {"N_X": n_x, "N_U": n_u, "N_Y": n_y, **places, "N_WORK": sum(blocks.values())}
