"""Truncated Taylor series of one operation, from its jvp rule alone.

A series is the list of coefficients of x(t) = Σ x_k t^k.  For y(t) = f(x(t)) there are four cases:

- The tangent of f does not depend on the operands that vary: f is affine in them, with linear part
  L, and y_k = L(x_k).  Structural operations, sums and selections are of this kind.
- f is a product, linear in each of two operands (`bilinear`): y_k = Σ_{i+j=k} f(x_i, z_j).
- f is a quotient: y_k follows from x_k = Σ_{i+j=k} y_i z_j.
- Otherwise the jvp rule, read as a differential equation, gives y'(t) = g(x(t), x'(t)), and
  k·y_k is coefficient k-1 of the right-hand side, a program of simpler operations.  Its series
  are computed on demand, order by order.  An application that occurs in it again, as exp x does in
  exp' x · ẋ, is the same node, of which lower coefficients are known by then.  So rules close, exp
  on itself, sin and cos on each other, with the O(n²) products of the classical recurrences.  A
  rule that does not close, as that of digamma, is followed n times.

References: Griewank & Walther, "Evaluating Derivatives", 2nd ed., chapter 13; Bettencourt, Johnson
& Duvenaud, "Taylor-mode automatic differentiation for higher-order derivatives in JAX", 2019.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, final

from ..core import (
    AbstractValue,
    Atom,
    Equation,
    Jaxpr,
    Literal,
    Operand,
    Param,
    Primitive,
    Zero,
    apply_jaxpr,
    aval_of,
    call_program,
    current_trace,
    infer,
    is_zero,
)
from ..core.dce import eliminate_dead_code
from ..lax.contraction.dot import dot_general_p
from ..lax.elementwise.arithmetic import div, div_p, mul, mul_p, neg, sub
from ..lax.elementwise.selection import scalar_like
from ..lax.ground.linear_structure import add_tangents, instantiate
from ..lax.window.convolution import conv_general_dilated_p
from ..util.memo import memoize
from ..util.parameter_keys import key_of, params_key
from .jvp import jvp_jaxpr

bilinear: frozenset[Primitive] = frozenset({mul_p, dot_general_p, conv_general_dilated_p})
# Calls of a program are taken as the program.
_CALLS = {"jit": "jaxpr", "remat2": "jaxpr", "custom_vjp_call": "call_jaxpr"}

Coefficients = list[Any]


class Tangent(NamedTuple):
    """How the tangents of an operation's results come about.

    Args:
        program: operands, then tangents of the active ones → tangents of the active results.
        out_active: which results have a tangent.
        affine: whether the program uses no operand that is active.
    """

    program: Jaxpr
    out_active: tuple[bool, ...]
    affine: bool


@memoize
def tangent_of(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    active: tuple[bool, ...],
) -> Tangent:
    """The tangent of one operation, for one signature."""
    fragment = jvp_jaxpr(call_program(primitive, avals, dict(params)), active)
    count = len(fragment.out_active)
    live = [i >= count for i in range(len(fragment.jaxpr.outvars))]
    program, used = eliminate_dead_code(fragment.jaxpr, live)
    affine = not any(on and u for on, u in zip(active, used, strict=False))
    return Tangent(program, fragment.out_active, affine)


class Series:
    """A value that varies with t; its coefficients are computed when first asked for."""

    __slots__ = ("_known", "aval", "varies")

    aval: Any
    varies: bool

    def __init__(self, aval: AbstractValue, varies: bool) -> None:
        self.aval = aval
        self.varies = varies
        self._known: dict[int, Any] = {}

    def coefficient(self, k: int) -> Any:
        """x_k, `Zero` where it is known to be zero."""
        if k > 0 and not self.varies:
            return Zero(self.aval.to_tangent_aval())
        known = self._known.get(k)
        if known is None:
            known = self._known[k] = self._compute(k)
        return known

    def _compute(self, k: int) -> Any:
        raise TypeError("a kind of series computes its coefficients")


@final
class Given(Series):
    """A series whose coefficients are there from the start; the rest are zero."""

    __slots__ = ("_coefficients",)

    def __init__(self, coefficients: Coefficients) -> None:
        super().__init__(aval_of(coefficients[0]), not all(map(is_zero, coefficients[1:])))
        self._coefficients = coefficients

    def _compute(self, k: int) -> Any:
        if k < len(self._coefficients):
            return self._coefficients[k]
        return Zero(self.aval.to_tangent_aval())


@final
class Derivative(Series):
    """x'(t) = Σ (k+1) x_{k+1} t^k."""

    __slots__ = ("_of",)

    def __init__(self, of: Series) -> None:
        super().__init__(of.aval.to_tangent_aval(), of.varies)
        self._of = of

    def _compute(self, k: int) -> Any:
        x = self._of.coefficient(k + 1)
        return x if is_zero(x) or k == 0 else mul(x, scalar_like(k + 1, x))


@final
class Result(Series):
    """One result of an application."""

    __slots__ = ("_application", "_position")

    def __init__(
        self, application: Application, position: int, aval: AbstractValue, varies: bool
    ) -> None:
        super().__init__(aval, varies)
        self._application = application
        self._position = position

    def _compute(self, k: int) -> Any:
        return self._application.coefficients(k)[self._position]


@final
class Application:
    """One application of an operation to series."""

    def __init__(
        self,
        graph: Graph,
        primitive: Primitive,
        params: dict[str, Param],
        operands: Sequence[Series],
    ) -> None:
        self._graph = graph
        self._primitive = primitive
        self._params = params
        self._operands = operands
        self._known: dict[int, list[Any]] = {}
        self._slope: list[Any] | None = None
        avals = tuple([x.aval for x in operands])
        self._active = tuple([x.varies for x in operands])
        out_avals, _ = infer(primitive, params, tuple(avals))
        out_active: tuple[bool, ...] = (False,) * len(out_avals)
        if any(self._active):
            self._tangent = tangent_of(primitive, tuple(params.items()), avals, self._active)
            out_active = self._tangent.out_active
        self.results = [
            Result(self, i, aval, on)
            for i, (aval, on) in enumerate(zip(out_avals, out_active, strict=True))
        ]

    def coefficients(self, k: int) -> list[Any]:
        """Coefficient k of all results."""
        if k not in self._known:
            self._known[k] = self._value() if k == 0 else self._spread(self._compute(k))
        return self._known[k]

    def _value(self) -> list[Any]:
        operands = [x.coefficient(0) for x in self._operands]
        result = current_trace().process(self._primitive, operands, self._params)
        return list(result) if self._primitive.multiple_results else [result]

    def _spread(self, active: Sequence[Any]) -> list[Any]:
        """Coefficients of all results from those of the active ones."""
        given = iter(active)
        return [next(given) if x.varies else Zero(x.aval.to_tangent_aval()) for x in self.results]

    def _compute(self, k: int) -> list[Any]:
        """Coefficient k of the active results, k > 0."""
        if self._tangent.affine:
            return self._linear_part(k)
        if self._primitive in bilinear:
            x, y = self._operands
            return [self._convolved(x, y, range(k + 1), k)]
        if self._primitive is div_p:
            return [self._quotient(k)]
        if self._slope is None:
            self._slope = self._graph.slope(self._tangent.program, self._operands, self._active)
        coefficients = [x.coefficient(k - 1) for x in self._slope]
        return [c if is_zero(c) or k == 1 else div(c, scalar_like(k, c)) for c in coefficients]

    def _linear_part(self, k: int) -> list[Any]:
        tangents = [x.coefficient(k) for x in self._operands if x.varies]
        if all(map(is_zero, tangents)):
            return [Zero(x.aval.to_tangent_aval()) for x in self.results if x.varies]
        primals = [x.coefficient(0) for x in self._operands]
        return apply_jaxpr(self._tangent.program, *primals, *map(instantiate, tangents))

    def _convolved(self, x: Series, y: Series, indices: Iterable[int], k: int) -> Any:
        """The sum over i of the products of x_i and y_{k-i}."""
        total: Any = Zero(self.results[0].aval.to_tangent_aval())
        for i in indices:
            factors = x.coefficient(i), y.coefficient(k - i)
            if not any(map(is_zero, factors)):
                term = self._multiply(*factors)
                total = term if is_zero(total) else add_tangents(total, term)
        return total

    def _multiply(self, x: Operand, y: Operand) -> Any:
        if self._primitive is div_p:
            return mul(x, y)
        return current_trace().process(self._primitive, (x, y), self._params)

    def _quotient(self, k: int) -> Any:
        """From x = y z: the coefficient y_k = (x_k - Σ_{i=1…k} z_i y_{k-i}) / z_0."""
        x, z = self._operands
        (y,) = self.results
        rest = self._convolved(z, y, range(1, k + 1), k)
        given = x.coefficient(k)
        if is_zero(rest) and is_zero(given):
            return rest
        if not is_zero(rest):
            given = neg(rest) if is_zero(given) else sub(given, rest)
        return div(given, z.coefficient(0))


@final
class Graph:
    """Applications that share their series: equal ones are one."""

    def __init__(self) -> None:
        self._applications: dict[Any, list[Result]] = {}
        self._constants: dict[Any, Given] = {}
        self._derivatives: dict[int, Derivative] = {}

    def apply(
        self, primitive: Primitive, params: dict[str, Param], operands: Sequence[Series]
    ) -> list[Series]:
        """The results of an operation."""
        body = _CALLS.get(primitive.name)
        if body is not None:
            return self.splice(params[body], operands)
        parameters = params_key(params)
        if parameters is None:
            return list(Application(self, primitive, params, operands).results)
        key = (primitive, parameters, tuple(map(id, operands)))
        known = self._applications.get(key)
        if known is None:
            application = Application(self, primitive, params, operands)
            known = self._applications[key] = application.results
        return list(known)

    def splice(self, jaxpr: Jaxpr, operands: Sequence[Series]) -> list[Series]:
        """The results of a program."""
        env: dict[Atom, Series] = dict(zip(jaxpr.invars, operands, strict=True))
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env[var] = self._constant(id(value), value)
        for eqn in jaxpr.eqns:
            env.update(zip(eqn.outvars, self._apply_equation(eqn, env), strict=True))
        return [self._series(a, env) for a in jaxpr.outvars]

    def slope(
        self, tangent: Jaxpr, operands: Sequence[Series], active: Sequence[bool]
    ) -> list[Series]:
        """The derivatives of an operation's results with respect to t."""
        derivatives = [self._derivative(x) for x, on in zip(operands, active, strict=True) if on]
        return self.splice(tangent, [*operands, *derivatives])

    def _derivative(self, x: Series) -> Derivative:
        known = self._derivatives.get(id(x))
        if known is None:
            known = self._derivatives[id(x)] = Derivative(x)
        return known

    def _apply_equation(self, eqn: Equation, env: dict[Atom, Series]) -> list[Series]:
        return self.apply(eqn.primitive, eqn.params, [self._series(a, env) for a in eqn.invars])

    def _series(self, atom: Atom, env: dict[Atom, Series]) -> Series:
        if type(atom) is not Literal:
            return env[atom]
        key = key_of((atom.val, atom.aval))
        return Given([atom.val]) if key is None else self._constant(key, atom.val)

    def _constant(self, key: Any, value: Operand) -> Given:
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = Given([value])
        return known
