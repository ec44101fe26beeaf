"""How results are split over a mesh: every record of the case tables, and the words of refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from morphax import core, lax
from morphax.config import enable_x64
from morphax.control.jit.jit import jit
from morphax.control.loops.scans import scan
from morphax.lax.shape.dce_sink import dce_sink_p
from morphax.parallel.varying import pvary_p
from morphax.transforms.derivatives import jvp, vjp
from morphax.transforms.vmap import vmap
from tests.cases.op_case import OpCase
from tests.lax.test_operations import CASES
from tests.sampling import sample

MESH = core.AbstractMesh((2, 2), ("x", "y"), core.AxisType.Explicit)
Spec = tuple[tuple[str, ...], ...]


def split_array(shape: Sequence[int], *names: str, dtype: Any = np.float32) -> core.ShapedArray:
    """An aval whose axis i is split over ``names[i]``, or whole where that is empty."""
    spec = tuple([(name,) if name else () for name in names])
    return core.ShapedArray(shape, dtype, sharding=core.AbstractSharding(MESH, spec))


def staged(function: Callable[..., Any], avals: Sequence[Any]) -> core.Jaxpr:
    def as_list(*operands: Any) -> list[Any]:
        results = function(*operands)
        return list(results) if isinstance(results, (list, tuple)) else [results]

    jaxpr, consts = core.stage(as_list, avals)
    return core.close_open(jaxpr, consts)


def texts(function: Callable[..., Any], *avals: Any) -> list[str]:
    return [aval.str_short() for aval in staged(function, avals).out_avals]


def over_x(sizes: Sequence[int]) -> Spec:
    """The first axis that can be, split over x."""
    return _split_at(sizes, {_even(sizes)[0]: ("x",)} if _even(sizes) else {})


def over_y(sizes: Sequence[int]) -> Spec:
    """The last axis that can be, split over y."""
    return _split_at(sizes, {_even(sizes)[-1]: ("y",)} if _even(sizes) else {})


def over_both(sizes: Sequence[int]) -> Spec:
    """The last axis that can be, split over y, and the first over x."""
    even = _even(sizes)
    return _split_at(sizes, {even[-1]: ("y",), even[0]: ("x",)} if even else {})


def whole(sizes: Sequence[int]) -> Spec:
    return ((),) * len(sizes)


def _even(sizes: Sequence[int]) -> list[int]:
    return [i for i, n in enumerate(sizes) if n and n % 2 == 0]


def _split_at(sizes: Sequence[int], splits: dict[int, tuple[str, ...]]) -> Spec:
    return tuple([splits.get(i, ()) for i in range(len(sizes))])


@pytest.fixture
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


PLACEMENTS = [(over_x, over_x), (over_y, over_y), (over_both, whole)]


# Solutions vary over what the matrix varies over, and the program of the matrix takes them, too:
# it should have been staged for values that vary so.  See the limits in docs/design/types.md.
MESHED = [case for case in CASES if not case.label.startswith("solve_sylvester")]


def is_inexact(case: OpCase) -> bool:
    return case.dtypes[0].startswith(("float", "complex"))


DIFFERENTIABLE = [case for case in MESHED if case.derivatives and is_inexact(case)]


def placed(arrays: Sequence[Any], placement: Any) -> list[core.ShapedArray]:
    """The avals of arrays that lie on the mesh, each varying over an axis of its own."""
    first, others = placement
    specs = [(others if i else first)(x.shape) for i, x in enumerate(arrays)]
    return [
        core.ShapedArray(
            x.shape,
            x.dtype,
            sharding=core.AbstractSharding(MESH, spec),
            vma=frozenset({f"v{i}"}),
        )
        for i, (x, spec) in enumerate(zip(arrays, specs, strict=True))
    ]


def staged_unless_ambiguous(
    function: Callable[..., Any], avals: Sequence[core.ShapedArray]
) -> core.Jaxpr | None:
    """The program; `None` where it is refused because of how its operands are split."""
    is_split = any([aval.split is not None and any(aval.split.spec) for aval in avals])
    try:
        return staged(function, avals)
    except TypeError as error:
        if "split over a mesh" in str(error) and is_split:
            return None
        raise


@pytest.mark.usefixtures("_wide_dtypes")
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("case", sample(MESHED, "split", 5), ids=lambda c: c.label)
def test_every_record_is_split_or_refused(case: OpCase, placement: Any) -> None:
    avals = placed(case.draw(case.dtypes[0]), placement)
    jaxpr = staged_unless_ambiguous(case.function, avals)
    if jaxpr is None:
        return
    core.check_jaxpr(jaxpr)
    for eqn in jaxpr.eqns:
        # Casts make operands vary alike.
        cast = eqn.params["axes"] if eqn.primitive is pvary_p else ()
        varying = frozenset(cast).union(*[v.aval.vma for v in eqn.invars])
        for i, var in enumerate(eqn.outvars):
            assert var.aval.vma == (eqn.invars[i].aval.vma if eqn.primitive.separate else varying)
            assert_fits(var.aval, [v.aval for v in eqn.invars])


@pytest.mark.usefixtures("_wide_dtypes")
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("case", sample(DIFFERENTIABLE, "tangents", 5), ids=lambda c: c.label)
def test_tangents_and_cotangents_are_split_as_what_they_belong_to(
    case: OpCase, placement: Any
) -> None:
    avals = placed(case.draw(case.dtypes[0]), placement)
    if staged_unless_ambiguous(case.function, avals) is None:
        return
    chosen = [
        i
        for i, (a, spec) in enumerate(zip(avals, case.operands, strict=True))
        if a.dtype.kind in "fc" and spec.differentiable
    ]

    def derivatives(*operands: Any) -> list[Any]:
        def of_chosen(*values: Any) -> list[Any]:
            given = dict(zip(chosen, values, strict=True))
            out = case.function(*[given.get(i, x) for i, x in enumerate(operands)])
            outs = out if isinstance(out, (list, tuple)) else [out]
            return [x for x in outs if x.dtype.kind in "fc"]

        primals = [operands[i] for i in chosen]
        outs, tangents = jvp(of_chosen, primals, primals)
        return [*outs, *tangents, *vjp(of_chosen, *primals)[1](outs)]

    jaxpr = staged_unless_ambiguous(derivatives, avals)
    if jaxpr is None:
        return
    core.check_jaxpr(jaxpr)
    results = jaxpr.out_avals
    count = (len(results) - len(chosen)) // 2
    belongs_to = [*results[:count], *[avals[i] for i in chosen]]
    for derivative, primal in zip(results[count:], belongs_to, strict=True):
        # Scalars are whole; a zero one is not on the mesh at all.
        assert derivative.split == primal.split or not primal.ndim
        assert derivative.vma == primal.vma


def assert_fits(aval: Any, operands: Sequence[Any]) -> None:
    if aval.split is None:
        # What depends on no split operand is left open.
        assert all([x.split is None for x in operands])
        return
    assert len(aval.split.spec) == aval.ndim
    for size, split in zip(aval.shape, aval.split.spec, strict=True):
        assert size % MESH.parts(split) == 0


@pytest.mark.parametrize(
    ("function", "avals", "result"),
    [
        (lax.add, [("x", ""), ("", "y")], "f32[4@x,8@y]"),
        (lax.add, [("x", ""), ("x", "")], "f32[4@x,8]"),
        (lambda x: lax.reduce_sum(x, (0,)), [("x", "y")], "f32[8@y]"),
        (lambda x: lax.transpose(x, (1, 0)), [("x", "")], "f32[8,4@x]"),
        (lambda x: lax.reshape(x, (32,)), [("x", "")], "f32[32@x]"),
        (lambda x: lax.reshape(x, (2, 2, 8)), [("x", "y")], "f32[2@x,2,8@y]"),
        (lambda x: lax.broadcast(x, (3,)), [("x", "")], "f32[3,4@x,8]"),
        (lambda x: lax.sort(x, dimension=1), [("x", "")], "f32[4@x,8]"),
        (lambda x: lax.slice_in_dim(x, 0, 2), [("x", "")], "f32[2@x,8]"),
        (lambda x, y: lax.stack([x, y]), [("x", ""), ("x", "")], "f32[2,4@x,8]"),
        (lambda x: lax.full_like(x, 1), [("x", "")], "f32[4@x,8]"),
        (lambda x, y: lax.dot(x, y.T), [("x", ""), ("y", "")], "f32[4@x,4@y]"),
        (lambda x, y: lax.dot(x, y.T), [("", "y"), ("", "")], "f32[4,4]"),
        (jit(lax.neg), [("x", "")], "f32[4@x,8]"),
        (vmap(lax.sin), [("x", "")], "f32[4@x,8]"),
        (vmap(jit(lambda x: lax.add(x, lax.iota(np.float32, 8)))), [("x", "")], "f32[4@x,8]"),
        (vmap(lax.dot), [("x", ""), ("x", "")], "f32[4@x]"),
        (lambda x: scan(lambda c, row: (c, -row), 0.0, x)[1], [("", "y")], "f32[4,8@y]"),
        (lambda x: jvp(lax.sin, (x,), (x,))[1], [("x", "")], "f32[4@x,8]"),
    ],
)
def test_axes_keep_their_splits(function: Any, avals: Any, result: str) -> None:
    assert texts(function, *[split_array((4, 8), *names) for names in avals]) == [result]


@pytest.mark.parametrize(
    ("function", "avals", "expected"),
    [
        (
            lax.add,
            [("x", ""), ("y", "")],
            "axis 0 of operand 0 and axis 0 of operand 1 split alike",
        ),
        (lax.add, [("x", ""), ("", "x")], "float32[4@x,8@x]"),
        (lambda x: lax.sort(x, dimension=0), [("x", "")], "axis 0 of operand 0 whole"),
        (lambda x: lax.slice_in_dim(x, 0, 3), [("x", "")], "axis 0 can be split over x"),
        (lambda x: lax.reshape(x, (32,)), [("", "y")], "axis 1 of operand 0 whole"),
        (
            lambda x, y: lax.concatenate([x, y], 1),
            [("x", ""), ("", "")],
            "axis 0 of operand 0 and axis 0 of operand 1 split alike",
        ),
        (lambda x, y: lax.dot(x, y.T), [("", "y"), ("", "y")], "a sum over y"),
        (vmap(lax.add), [("x", ""), ("", "")], "mapped axes that are all split alike"),
        (lambda x: scan(lambda c, row: (c, -row), 0.0, x)[1], [("x", "")], "xs whole"),
    ],
)
def test_what_is_ambiguous_is_refused(function: Any, avals: Any, expected: str) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        texts(function, *[split_array((4, 8), *names) for names in avals])
    assert expected in str(error.value)


def test_meshes_do_not_mix() -> None:
    other = core.AbstractSharding(
        core.AbstractMesh((2,), ("x",), core.AxisType.Explicit), (("x",), ())
    )
    with pytest.raises(TypeError, match="one mesh, not"):
        texts(lax.add, split_array((4, 8), "x", ""), core.ShapedArray((4, 8), "f4", sharding=other))


def test_programs_vary_as_their_operands() -> None:
    x = core.ShapedArray((4,), np.float32, vma=frozenset({"i"}))
    y = core.ShapedArray((4,), np.float32, vma=frozenset({"j"}))
    assert texts(lax.add, x, y) == ["f32[4]{V:(i,j)}"]
    assert texts(vmap(lax.add), x, y) == ["f32[4]{V:(i,j)}"]
    assert texts(lambda a: scan(lambda c, b: (c, b), 0.0, a)[1], x) == ["f32[4]{V:i}"]


def test_operations_on_arrays_say_how_their_axes_go_together() -> None:
    """Those that do not have no operands, no results, or act on references."""
    silent = {
        p.name
        for p in core.known_primitives()
        if type(p).__module__.startswith("morphax.lax.") and p.axis_flow is None
    }
    assert silent == {
        *("iota", "empty", "dim_as_value", dce_sink_p.name),
        *("get", "swap", "addupdate", "new_ref", "empty_ref", "freeze", "free_ref"),
    }


def test_an_operation_without_axis_flow_takes_whole_operands_only() -> None:
    class Opaque(core.Primitive):
        name = "opaque"

        def abstract_eval(self, x: Any) -> Any:
            return core.like(x)

    opaque = Opaque()
    with pytest.raises(TypeError, match="does not say how its axes go together"):
        texts(opaque.bind, split_array((4, 8), "x", ""))
