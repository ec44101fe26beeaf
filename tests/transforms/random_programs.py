"""Random programs: functions of arrays, built from the case tables and from operations with bodies.

A program is a list of steps over a *pool* of values, which starts with the arguments; a step picks
operands from the pool by numbers and adds its results.  Operands are fitted to what an operation
asks for: shape by repetition or cutting, range by a sine (so that everything stays differentiable
and bounded), whole numbers by a remainder.  A body is a list of steps too, and may use the pool of
the program around it.  Programs are plain data: Hypothesis draws, shrinks and prints them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from hypothesis import strategies as st

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import eval_jaxpr
from morphax.custom_batching import custom_vmap
from tests.cases.op_case import OpCase, Operand, numpy_dtype
from tests.lax.test_operations import CASES

Pool = list[Any]
FLOAT_SHAPES = ((3,), (2, 2), (), (2, 0))
MOST_ELEMENTS = 48

WIDE = {
    "float32": "float64",
    "complex64": "complex128",
    "bfloat16": "float64",
    "float16": "float64",
}

# The dtypes that the cases of a program may have, by the dtype of its arguments.
FAMILIES = {
    "float64": ("float64", "complex128", "int32", "int8", "uint8", "uint32", "bool"),
    "float32": ("float32", "complex64", "int32", "int8", "uint8", "uint32", "bool"),
    "bfloat16": ("bfloat16", "float16", "int8", "bool"),
}


class Step(NamedTuple):
    """One operation: its name, numbers that make its choices, and its bodies."""

    name: str
    numbers: tuple[int, ...]
    bodies: tuple[tuple[Step, ...], ...] = ()


@final
@dataclass(frozen=True)
class Program:
    """A function (floats, ints) → (inexact results, exact results), both trees of tuples."""

    steps: tuple[Step, ...]
    dtype: str = "float64"

    def __call__(self, floats: Sequence[Any], ints: Sequence[Any]) -> tuple[Any, Any]:
        pool = [jnp.asarray(x) for x in (*floats, *ints)]
        run(self.steps, pool, self.dtype)
        inexact = [_as_float(x, self.dtype) for x in pool if _is_inexact(x)]
        exact = [x for x in pool if not _is_inexact(x)]
        return {"last": inexact[-1], "others": tuple(inexact[-4:-1])}, tuple(exact[-2:])

    def arguments(self, seed: int = 0) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Numbers for the arguments."""
        rng = np.random.default_rng(seed)
        floats = tuple([rng.normal(size=s).astype(numpy_dtype(self.dtype)) for s in FLOAT_SHAPES])
        return floats, (
            rng.integers(0, 9, 3).astype(np.int32),
            rng.integers(0, 9, ()).astype(np.int32),
        )


def run(steps: Sequence[Step], pool: Pool, dtype: str) -> None:
    """Apply the steps, adding their results to the pool."""
    for step in steps:
        choose = Choices(step, pool, dtype)
        results = BODIES[step.name](choose) if step.name in BODIES else _apply_case(choose)
        pool.extend([_bounded(jnp.asarray(x)) for x in results])


def _is_inexact(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.inexact)


def _as_float(x: Any, dtype: str) -> Any:
    """A value as a real number of the dtype."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        x = lax.real(x) + lax.imag(x)
    return x.astype(dtype)


def _bounded(x: Any) -> Any:
    return x if x.size <= MOST_ELEMENTS else resized(x, (6,))


def resized(x: Any, shape: tuple[int, ...]) -> Any:
    """The elements of `x`, repeated or cut, in another shape."""
    count = int(np.prod(shape))
    if x.shape == shape:
        return x
    if x.size == 0:
        return jnp.zeros(shape, x.dtype)
    if x.shape == ():
        return jnp.broadcast_to(x, shape)
    flat = jnp.tile(lax.reshape(x, (x.size,)), max(-(-count // x.size), 1))
    return lax.reshape(lax.slice(flat, (0,), (count,)), shape)


@final
class Choices:
    """What a step picks, number by number."""

    def __init__(self, step: Step, pool: Pool, dtype: str) -> None:
        self.step = step
        self.pool = pool
        self.dtype = dtype
        self._used = 0

    def number(self, count: int) -> int:
        """One of 0 … count - 1."""
        numbers = self.step.numbers
        self._used += 1
        return numbers[(self._used - 1) % len(numbers)] % count if numbers else 0

    def one_of(self, options: Sequence[Any]) -> Any:
        return options[self.number(len(options))]

    def value(self, inexact: bool) -> Any:
        """A value of the pool, late ones first."""
        found = [x for x in self.pool if _is_inexact(x) is inexact]
        return found[-1 - self.number(len(found))]

    def real(self, shape: tuple[int, ...] | None = None) -> Any:
        """A real number, or an array of them."""
        x = _as_float(self.value(True), self.dtype)
        return x if shape is None else resized(x, shape)

    def whole(self, shape: tuple[int, ...] = (), count: int = 9) -> Any:
        """Whole numbers 0 … count - 1."""
        x = resized(self.value(False), shape).astype(np.int32)
        return jnp.remainder(x, np.int32(count))

    def tame(self, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Any:
        """Real numbers between bounds, no two alike by construction."""
        phases = 0.7 * np.arange(int(np.prod(shape))).reshape(shape) + 0.1 * self._used
        x = jnp.sin(self.real(shape) + phases.astype(numpy_dtype(self.dtype)))
        return (low + high) / 2 + 0.45 * (high - low) * x

    def body(self, i: int, results: Sequence[Any], closed: bool = False) -> Callable[..., Any]:
        """A function by steps; its results have the shapes and dtypes of `results`.

        Args:
            i: which of the bodies.
            results: arrays, for their types.
            closed: whether it uses nothing from outside.
        """
        steps = self.step.bodies[i % len(self.step.bodies)] if self.step.bodies else ()
        avals = [(x.shape, str(x.dtype)) for x in results]
        outer = [] if closed else list(self.pool)

        def function(*operands: Any) -> list[Any]:
            # An argument of each kind, so that there is always something to pick.
            anchors = [jnp.asarray(0.5, self.dtype), jnp.asarray(3, np.int32)]
            pool = [*anchors, *outer, *map(jnp.asarray, operands)]
            run(steps, pool, self.dtype)
            return [_last(pool, shape, dtype) for shape, dtype in avals]

        return function


def _last(pool: Pool, shape: tuple[int, ...], dtype: str) -> Any:
    """The latest values of a kind, added, as a value of the given type."""
    if numpy_dtype(dtype).kind in "iub":
        return jnp.remainder(resized([x for x in pool if not _is_inexact(x)][-1], shape), 9).astype(
            dtype
        )
    found = [_as_float(x, dtype) for x in pool if _is_inexact(x)][-2:]
    return jnp.sin(resized(found[0], shape)) + 0.5 * resized(found[-1], shape)


@functools.cache
def cases(dtype: str, smooth: bool) -> dict[str, tuple[OpCase, str]]:
    """The small cases that a program of a dtype may apply, with the dtype to apply them at."""
    found = {}
    for case in CASES:
        allowed = [d for d in case.dtypes if d in FAMILIES[dtype]]
        sizes = [int(np.prod(operand.shape)) for operand in case.operands]
        if case.batched and allowed and max(sizes, default=0) <= MOST_ELEMENTS:
            for d in allowed[:1] if smooth else allowed:
                if not smooth or (case.derivatives == 2 and d == dtype):
                    found[f"{case.label}:{d}"] = (case, d)
    return found


def _apply_case(choose: Choices) -> list[Any]:
    case, dtype = cases(choose.dtype, False)[choose.step.name]
    operands = [fitted(choose, case, i, dtype) for i in range(len(case.operands))]
    result = case.function(*operands)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    return [x for x in results if x.dtype.kind in "fciub" or _is_inexact(x)]


def fitted(choose: Choices, case: OpCase, i: int, dtype: str) -> Any:
    """A value that fits operand `i` of a case."""
    spec: Operand = case.operands[i]
    target = numpy_dtype(spec.dtype or dtype)
    drawn = case.draw(WIDE.get(dtype, dtype), choose.number(5))[i].astype(target)
    if target.kind == "b":
        return choose.whole(spec.shape, 2) == 1
    if target.kind in "iu":
        low = max(int(np.floor(spec.low)), 0) if target.kind == "u" else int(spec.low)
        if spec.distinct or (spec.dtype is not None and not spec.differentiable):
            return drawn
        span = min(max(int(spec.high) - low, 1), 9)
        return (choose.whole(spec.shape, span) + np.int32(low)).astype(target)
    if not spec.differentiable:
        return drawn
    x = _inexact_operand(choose, spec, drawn, target)
    return x if case.derivatives else lax.stop_gradient(x)


def _inexact_operand(choose: Choices, spec: Operand, drawn: Any, target: Any) -> Any:
    """A value that fits an operand of floating or complex dtype."""
    if spec.distinct:
        gap = (spec.high - spec.low) / max(drawn.size, 1)
        return (drawn + choose.tame(spec.shape, -0.2 * gap, 0.2 * gap)).astype(target)
    x = choose.tame(spec.shape, spec.low, spec.high)
    if target.kind == "c":
        part = np.float32 if target == np.complex64 else np.float64
        return lax.complex(
            x.astype(part), choose.tame(spec.shape, spec.low, spec.high).astype(part)
        )
    return x.astype(target)


def _jit(choose: Choices) -> list[Any]:
    a, b, i = choose.real(), choose.real(), choose.whole()
    f = choose.body(0, [a, jnp.zeros((2,), choose.dtype), i], choose.number(2) == 0)
    options: dict[str, Any] = choose.one_of([{}, {"inline": True}, {"keep_unused": True}])
    out = jax.jit(lambda tree: dict(zip("abc", f(*tree["x"], tree["i"]), strict=True)), **options)(
        {"x": (a, b), "i": i}
    )
    return [out["a"], out["b"], out["c"]]


def _cond(choose: Choices) -> list[Any]:
    a, i = choose.real(), choose.whole()
    f, g = (choose.body(k, [a, i]) for k in range(2))
    return lax.cond(choose.whole((), 2) == 0, f, g, a, i)


def _switch(choose: Choices) -> list[Any]:
    a = choose.real()
    branches = [choose.body(k, [a]) for k in range(2)]
    return lax.switch(choose.whole() - 3, [*branches, lambda x: [x], lambda x: [0 * x]], a)


def _scan(choose: Choices) -> list[Any]:
    length = choose.one_of([3, 2, 1, 0, 4])
    carry = {"a": choose.real(), "i": choose.whole()}
    xs = (choose.real((length, 2)), choose.whole((length,)))
    step = choose.body(0, [carry["a"], carry["i"], jnp.zeros(2, choose.dtype), carry["i"]])

    def body(c: Any, x: Any) -> Any:
        a, i, y, j = step(c["a"], c["i"], *x)
        return {"a": a, "i": i}, (y, j)

    last, (ys, js) = lax.scan(
        body,
        carry,
        xs,
        length=length,
        reverse=choose.one_of([False, True]),
        unroll=choose.one_of([1, 2, True]),
    )
    return [last["a"], last["i"], js, ys]


def _while(choose: Choices) -> list[Any]:
    a, bound = choose.real(), choose.whole((), 4)
    step = choose.body(0, [a])
    if choose.number(2) == 1:
        return [lax.fori_loop(0, bound, lambda i, x: step(x, i)[0], a)]
    _, a, w = lax.while_loop(
        lambda c: c[0] < bound,
        lambda c: (c[0] + 1, *step(c[1], c[0]), c[2] * 0.5 + 1),
        (0, a, jnp.asarray(0.25, choose.dtype)),
    )
    return [w, a]


def _fori(choose: Choices) -> list[Any]:
    a, upper = choose.real(), choose.one_of([3, 1, 0])
    step = choose.body(0, [a])
    return [lax.fori_loop(0, upper, lambda i, x: step(x, i)[0], a)]


def _map(choose: Choices) -> list[Any]:
    xs = choose.real((3, 2))
    f = choose.body(0, [xs[0]])
    return [lax.map(lambda x: f(x)[0], xs, batch_size=choose.one_of([None, 2]))]


def _associative_scan(choose: Choices) -> list[Any]:
    xs = {"a": choose.tame((choose.one_of([4, 3, 1]),)), "b": choose.tame((3, 2))}
    xs["a"] = resized(xs["a"], (3,))

    def affine(f: Any, g: Any) -> Any:
        a, b = f["a"], f["b"]
        return {"a": a * g["a"], "b": b * g["a"][:, None] + g["b"]}

    out = lax.associative_scan(affine, xs, reverse=choose.one_of([False, True]))
    return [out["a"], out["b"]]


def _custom_jvp(choose: Choices) -> list[Any]:
    a, b = choose.real(), choose.real((2,))
    f = choose.body(0, [a, b], closed=True)
    restated = jax.custom_jvp(f)

    @restated.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return jax.jvp(f, primals, tangents)

    return restated(a, b)


def _custom_vjp(choose: Choices) -> list[Any]:
    a, b, i = choose.real(), choose.real((2,)), choose.whole()
    f = choose.body(0, [a, b], closed=True)
    restated = jax.custom_vjp(f)
    zero = np.zeros((), jax.float0)
    restated.defvjp(
        lambda a, b, i: jax.vjp(lambda a, b: f(a, b, i), a, b),
        lambda pullback, ct: (*pullback(ct), zero),
    )
    return restated(a, b, i)


POLICIES = (
    None,
    jax.checkpoint_policies.everything_saveable,
    jax.checkpoint_policies.nothing_saveable,
    jax.checkpoint_policies.dots_saveable,
    lambda prim, *_, **__: str(prim) in ("sin", "mul", "scan", "jit"),
)


def _checkpoint(choose: Choices) -> list[Any]:
    a, i = choose.real(), choose.whole()
    f = choose.body(0, [a, i])
    options = {"policy": choose.one_of(POLICIES), "prevent_cse": choose.one_of([True, False])}
    return jax.checkpoint(f, **options)(a, i)


def _custom_vmap(choose: Choices) -> list[Any]:
    a, i = choose.real(), choose.whole()
    f = choose.body(0, [a, i], closed=True)
    restated = custom_vmap(f)

    @restated.def_vmap
    def rule(size: int, batched: Any, *operands: Any) -> Any:
        outs = jax.vmap(f, [0 if on else None for on in batched], axis_size=size)(*operands)
        return outs, [True] * len(outs)

    return restated(a, i)


def _closure_convert(choose: Choices) -> list[Any]:
    a, i = choose.real(), choose.whole()
    f = choose.body(0, [a])
    converted, consts = jax.closure_convert(lambda x: f(x, i), a)
    return converted(a, *consts)


def _vmap(choose: Choices) -> list[Any]:
    axis, out = choose.number(2), choose.number(2)
    size = choose.one_of([2, 1, 3, 0])
    a = choose.real((size, 2) if axis == 0 else (2, size))
    i = choose.whole((size,))
    f = choose.body(0, [jnp.zeros(2, choose.dtype), i[:0].sum()])
    return jax.vmap(
        f, in_axes=(axis, choose.one_of([0, None]) if size == 0 else 0), out_axes=[out, 0]
    )(a, i)


def _collective(choose: Choices) -> list[Any]:
    """Members of a batch that communicate; the batch is an axis of the program's own."""
    xs = choose.real((3, 2))
    f = choose.body(0, [xs[0]])

    def member(x: Any) -> list[Any]:
        y = f(x, lax.axis_index("members"))[0]
        total, mean = lax.psum(y, "members"), lax.pmean(x * y, "members")
        shifted = lax.ppermute(y, "members", [(0, 1), (1, 2), (2, 0)])
        return [total * x, mean, shifted, lax.all_gather(y, "members")[1], lax.pmax(x, "members")]

    total, mean, shifted, second, _ = jax.vmap(member, axis_name="members")(xs)
    return [total, mean, second, shifted]


def _solve(choose: Choices) -> list[Any]:
    """A linear system whose matrix a body scales."""
    b = choose.real((3,))
    scale = 2.0 + jnp.tanh(choose.body(0, [b[0]])(b)[0])

    def solver(_: Any, b: Any) -> Any:
        return b / scale

    return [lax.custom_linear_solve(lambda x: scale * x, b, solver, solver)]


def scalar(outs: Any) -> Any:
    """A number that depends on all inexact leaves of a tree."""
    leaves = [x for x in jax.tree.leaves(outs) if _is_inexact(x)]
    return sum([jnp.sum(jnp.sin(x)) for x in leaves])


def _grad(choose: Choices) -> list[Any]:
    a, b = choose.real(), choose.real((2,))
    f = choose.body(0, [a, b])
    return list(jax.grad(lambda a, b: scalar(f(a, b)), (0, 1))(a, b))


def _jvp(choose: Choices) -> list[Any]:
    a, b = choose.real(), choose.real()
    f = choose.body(0, [a])
    outs, tangents = jax.jvp(f, (a, b), (b if b.shape == a.shape else a, b))
    return [*outs, *tangents]


def _vjp(choose: Choices) -> list[Any]:
    a, b = choose.real(), choose.real((2,))
    f = choose.body(0, [a, b])
    outs, pullback = jax.vjp(f, a, b)
    return [*pullback([jnp.cos(x) for x in outs]), outs[0]]


def _linearize(choose: Choices) -> list[Any]:
    a, b = choose.real(), choose.real((2,))
    f = choose.body(0, [a, b])
    outs, push = jax.linearize(f, a, b)
    return [*outs, *push(jnp.cos(a), b)]


def _linear_transpose(choose: Choices) -> list[Any]:
    a, b = choose.real((3,)), choose.real((2,))
    f = choose.body(0, [b])
    push = jax.linearize(f, a, b)[1]
    return list(jax.linear_transpose(push, a, b)([jnp.sin(b)]))


def _retraced(choose: Choices) -> list[Any]:
    a, i = choose.real(), choose.whole()
    jaxpr = jax.make_jaxpr(choose.body(0, [a, i]))(a, i)
    return eval_jaxpr(jaxpr, jaxpr.consts, a, i)


def _reference(choose: Choices) -> list[Any]:
    a, i = choose.real((3,)), choose.whole((), 3)
    f = choose.body(0, [a[0], a])
    ref = jax.new_ref(a)
    ref[i] = f(ref[0], i)[0]
    ref[:2] += ref[1:] * 0.5
    ref[...] = f(ref[i], i)[1] + ref[...]
    return [jax.freeze(ref)]


def _reference_in_loop(choose: Choices) -> list[Any]:
    a, rows = choose.real((2,)), choose.real((3, 2))
    f = choose.body(0, [a])
    total, table = jax.new_ref(a), jax.new_ref(rows)

    def step(carry: Any, row: Any) -> Any:
        total[...] += f(row[...], carry)[0]
        row[0] = carry * row[1]
        inner = jax.new_ref(carry)
        inner[...] *= 0.5
        return inner[...] + total[0], total[...]

    carry, ys = lax.scan(step, jnp.asarray(0.5, choose.dtype), table, reverse=choose.number(2) == 1)
    return [carry, ys, total[...], table[...]]


def _reference_in_branch(choose: Choices) -> list[Any]:
    a = choose.real((3,))
    f = choose.body(0, [a])
    ref = jax.new_ref(a)

    def write(x: Any) -> Any:
        ref[...] = f(ref[...])[0]
        return x * ref[0]

    out = lax.cond(choose.whole((), 2) == 0, write, lambda x: x + ref[1], choose.real(()))
    return [out, ref[...]]


def _random(choose: Choices) -> list[Any]:
    key = jax.random.key(choose.whole())
    first, second = jax.random.split(jax.random.fold_in(key, choose.whole()))
    noise = jax.random.uniform(first, (3,), dtype=choose.dtype)
    return [noise * choose.real((3,)), jax.random.randint(second, (2,), 0, 9)]


LOG: list[float] = []


def _effect(choose: Choices) -> list[Any]:
    """A value that the program shows to its surroundings: `LOG`."""
    jax.debug.callback(lambda x: LOG.append(float(np.sum(x))), choose.real())
    return []


def _stop_gradient(choose: Choices) -> list[Any]:
    a = choose.real()
    return [lax.stop_gradient(a), a * lax.stop_gradient(jnp.cos(a))]


def _arithmetic(choose: Choices) -> list[Any]:
    a = choose.real()
    b = choose.real(a.shape)
    return [a * b, a - 0.5 * b, jnp.where(choose.whole(a.shape, 2) == 1, a, b)]


def _index(choose: Choices) -> list[Any]:
    a, i = choose.real((3, 2)), choose.whole((2,), 3)
    return [a[i], a.at[i[0]].add(a[i[1]]), a[:, i[0] % 2], a.at[i[0], 0].set(a[1, 1])]


def _contract(choose: Choices) -> list[Any]:
    a, b = choose.real((2, 3)), choose.real((3, 2))
    return [jnp.einsum("ij,jk->ki", a, b), jnp.dot(a, b[:, 0])]


Operation = Callable[[Choices], Sequence[Any]]

PLAIN: dict[str, Operation] = {
    "random": _random,
    "stop_gradient": _stop_gradient,
    "arithmetic": _arithmetic,
    "index": _index,
    "contract": _contract,
    "associative_scan": _associative_scan,
    "effect": _effect,
}
BODIES: dict[str, Operation] = PLAIN | {
    "jit": _jit,
    "cond": _cond,
    "switch": _switch,
    "scan": _scan,
    "while": _while,
    "fori": _fori,
    "map": _map,
    "custom_jvp": _custom_jvp,
    "custom_vjp": _custom_vjp,
    "checkpoint": _checkpoint,
    "custom_vmap": _custom_vmap,
    "closure_convert": _closure_convert,
    "vmap": _vmap,
    "collective": _collective,
    "solve": _solve,
    "grad": _grad,
    "jvp": _jvp,
    "vjp": _vjp,
    "linearize": _linearize,
    "linear_transpose": _linear_transpose,
    "retraced": _retraced,
    "reference": _reference,
    "reference_in_loop": _reference_in_loop,
    "reference_in_branch": _reference_in_branch,
}
# What has a derivative, on purpose, that is not that of its value.
NOT_SMOOTH = ("stop_gradient",)
# What differentiates its bodies, and what cannot be differentiated in that way.  A rule that pushes
# tangents through a loop of unknown length has no transpose.
REFUSED_INSIDE = {
    "jvp": ("custom_vjp",),
    "linearize": ("custom_vjp",),
    "linear_transpose": ("custom_vjp",),
    "custom_jvp": ("custom_vjp", "while"),
}


def programs(
    dtype: str = "float64",
    *,
    depth: int = 2,
    most: int = 2,
    smooth: bool = False,
    without: Sequence[str] = ("effect",),
) -> st.SearchStrategy[Program]:
    """Programs.

    Args:
        dtype: of the inexact arguments.
        depth: how deep bodies nest.
        most: steps per body.
        smooth: only operations whose derivative is that of finite differences.
        without: operations to leave out.
    """
    banned = {*without, *(NOT_SMOOTH if smooth else ())}
    labels = st.sampled_from([n for n in cases(dtype, smooth) if n not in banned])
    plain = st.sampled_from([n for n in PLAIN if n not in banned])
    carriers = st.sampled_from([n for n in BODIES if n not in PLAIN and n not in banned])
    numbers = st.lists(st.integers(0, 11), max_size=8).map(tuple)
    simple = st.builds(Step, st.one_of(labels, labels, plain), numbers, st.just(()))

    def step_of(name: str, level: int) -> st.SearchStrategy[Step]:
        inner = st.lists(steps(level - 1), min_size=1, max_size=2).map(tuple)
        found = st.builds(Step, st.just(name), numbers, inner)
        refused = REFUSED_INSIDE.get(name, ())
        return found.filter(lambda step: not _holds(step, refused)) if refused else found

    def steps(level: int) -> st.SearchStrategy[tuple[Step, ...]]:
        kinds = [simple, carriers.flatmap(lambda name: step_of(name, level))]
        return st.lists(st.one_of(kinds[: 1 + (level > 0)]), min_size=1, max_size=most).map(tuple)

    return steps(depth).map(lambda found: Program(found, dtype))


def _holds(step: Step, names: Sequence[str]) -> bool:
    """Whether a step, or one inside it, has one of the names."""
    inner = [s for body in step.bodies for s in body]
    return step.name in names or any([_holds(s, names) for s in inner])


def widened(program: Program) -> Program:
    """The program of float32 numbers as one of float64 numbers."""

    def wide(step: Step) -> Step:
        label, _, dtype = step.name.rpartition(":")
        name = f"{label}:{WIDE.get(dtype, dtype)}" if label else step.name
        return Step(name, step.numbers, tuple([tuple(map(wide, body)) for body in step.bodies]))

    return Program(tuple(map(wide, program.steps)), WIDE[program.dtype])
