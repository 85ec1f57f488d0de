"""Normal form of an expression: a polynomial in its names, sines, cosines, roots and quotients, with cos^2 = 1 - sin^2.

Products are multiplied out, equal terms add up, and terms that cancel vanish exactly, as the effective radii of gears
on tilting axes do: ``sin(theta) (r_b + r_c sin(theta) - r_b) + cos(theta) r_c cos(theta) = r_c``. Kernels then compute
less, and terms that are independent of the moving variable are recognised.
"""

from rtcvt.files.expression import Expression, number

Monomial = tuple[tuple[Expression, int], ...]  # factors with their powers, in a fixed order
Polynomial = dict[Monomial, float]  # with coefficients

_MAX_TERMS = 200


class _TooLongError(Exception):
    """Multiplied out, the expression has more than `_MAX_TERMS` terms."""


def normal_form(e: Expression) -> Expression:
    """The normal form of `e`, or `e` itself if that needs no more operations."""
    try:
        result = _sum(_expanded(e))
    except _TooLongError:
        return e
    return result if _operations(result) < _operations(e) else e


def _expanded(e: Expression) -> Polynomial:
    match e.op:
        case "number":
            return {(): float(e.leaf)} if e.value else {}
        case "+":
            return _added(_expanded(e.args[0]), _expanded(e.args[1]), 1.0)
        case "-":
            return _added(_expanded(e.args[0]), _expanded(e.args[1]), -1.0)
        case "neg":
            return _added({}, _expanded(e.args[0]), -1.0)
        case "*":
            return _multiplied(_expanded(e.args[0]), _expanded(e.args[1]))
        case "/" if e.args[1].value:
            return {m: c / e.args[1].value for m, c in _expanded(e.args[0]).items()}
    return {((Expression(e.op, tuple(normal_form(a) for a in e.args), e.leaf), 1),): 1.0}


def _added(a: Polynomial, b: Polynomial, sign: float) -> Polynomial:
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, 0.0) + sign * coefficient
    return {m: c for m, c in total.items() if c != 0.0}


def _multiplied(a: Polynomial, b: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for m, c in a.items():
        for n, d in b.items():
            total = _added(total, _product(m, n), c * d)
            if len(total) > _MAX_TERMS:
                raise _TooLongError
    return total


def _product(m: Monomial, n: Monomial) -> Polynomial:
    """The product of two monomials with no power of a cosine above 1."""
    powers = dict(m)
    for factor, power in n:
        powers[factor] = powers.get(factor, 0) + power
    for factor, power in powers.items():
        if factor.op == "cos" and power > 1:
            sine = Expression("sin", factor.args)
            rest = {**powers, factor: power - 2}
            raised = {**rest, sine: rest.get(sine, 0) + 2}
            return _added(_product(_ordered(rest), ()), _product(_ordered(raised), ()), -1.0)
    return {_ordered(powers): 1.0}


def _ordered(powers: dict[Expression, int]) -> Monomial:
    return tuple(sorted(((f, p) for f, p in powers.items() if p > 0), key=lambda item: str(item[0])))


def _sum(polynomial: Polynomial) -> Expression:
    positive = [_term(m, c) for m, c in polynomial.items() if c > 0.0]
    negative = [_term(m, -c) for m, c in polynomial.items() if not c > 0.0]
    total = number(0.0)
    for term in positive:
        total = total + term
    for term in negative:
        total = total - term
    return total


def _term(monomial: Monomial, coefficient: float) -> Expression:
    product = number(coefficient)
    for factor, power in monomial:
        for _ in range(power):
            product = product * factor
    return product


def _operations(e: Expression) -> int:
    """Operations to evaluate `e`, common parts counted once."""
    seen: set[Expression] = set()

    def visit(node: Expression) -> None:
        if node not in seen:
            seen.add(node)
            for argument in node.args:
                visit(argument)

    visit(e)
    return sum(bool(node.args) for node in seen)
