"""Calls of exported programs: the primitive, and what is checked before.

A call is one operation.  Compiled programs take up the module of the exported one; reverse mode
calls its pullback, an exported program too; a batch calls it for one member after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, final

from .. import tree
from ..array import Array
from ..control.custom.custom_vjp import custom_vjp
from ..control.jit.jit import jit
from ..control.loops.scans import map as map_over
from ..core import BatchAxes, ShapedArray, aval_of, not_differentiable, not_linear
from ..core.dims import Dim, SymbolicDim, symbols_in
from ..core.size_solutions import Check, Origin, checks, origins, size_name, substituted
from ..engines.reference.eager import RunsOnArrays
from ..engines.xla.annotations import named_sharding_constraint
from ..engines.xla.portable import embedded_call, load_libraries, module_of
from ..engines.xla.stablehlo import Builder, Value
from ..numpy.shaping import moveaxis
from ..tree._mismatch import explain
from ..util.messages import message
from ._checks import DisabledSafetyCheck

if TYPE_CHECKING:
    from ._exported import Exported


class Signature(NamedTuple):
    """What calls of one exported program share.

    Args:
        names: of the leaves of the arguments, for error text.
        origins, checks: of its symbols.
        function: of leaves, to be differentiated.
        compiled: of leaves, for eager mode.
    """

    names: Sequence[str]
    origins: Sequence[Origin]
    checks: Sequence[Check]
    function: Any
    compiled: Any


def signature_of(exported: Exported, names: Sequence[str]) -> Signature:
    """What is worked out once for an exported program."""
    where, avals = f"the exported function {exported.fun_name}", exported.in_avals
    symbols = symbols_in([n for aval in avals for n in aval.shape])

    def function(*leaves: Any) -> tuple[Any, ...]:
        return tuple(call_exported_p.bind(*leaves, exported=exported))

    def forward(*leaves: Any) -> tuple[Any, Any]:
        # It is differentiated too, in derivatives of derivatives.
        return with_vjp(*leaves), leaves

    def backward(leaves: Any, cts: Any) -> Any:
        return exported.vjp().call(*leaves, *cts)

    with_vjp = custom_vjp(function)
    with_vjp.defvjp(forward, backward)
    found = list(origins(where, avals, symbols, names)) if symbols else []
    wanted = list(checks(avals, symbols, names)) if symbols else []
    return Signature(names, found, wanted, with_vjp, jit(function))


def call_flat(exported: Exported, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an exported program on trees."""
    leaves, structure = tree.flatten((args, kwargs))
    if structure != exported.in_tree:
        where = f"call of the exported function {exported.fun_name}, arguments (args, kwargs)"
        raise explain(exported.in_tree, (args, kwargs), where, "the structure", "the arguments")
    avals = [aval_of(x) for x in leaves]
    _check_avals(exported, avals)
    sizes_for(exported, avals)
    return exported.out_tree.unflatten(exported.signature.function(*leaves))


def _check_avals(exported: Exported, avals: Sequence[ShapedArray]) -> None:
    """Dtypes and ranks, and sizes that are numbers, are those of the exported program."""
    for name, given, wanted in zip(exported.signature.names, avals, exported.in_avals, strict=True):
        fits = len(given.shape) == len(wanted.shape) and all(
            [_may_be(n, m) for n, m in zip(given.shape, wanted.shape, strict=True)]
        )
        if given.dtype != wanted.dtype or not fits:
            raise ValueError(
                message(
                    f"call of the exported function {exported.fun_name}, argument {name}",
                    given=given.str_short(),
                    expected=wanted.str_short(),
                    fix="Convert it, or export the function for such arguments too.",
                )
            )


def _may_be(given: Dim, wanted: Dim) -> bool:
    return SymbolicDim in (type(given), type(wanted)) or given == wanted


def sizes_for(exported: Exported, avals: Sequence[ShapedArray]) -> Mapping[str, Dim]:
    """What the symbols of a program stand for where it is called on operands of these avals.

    Raises:
        ValueError: if the operands are not of such shapes, or a constraint does not hold.
    """
    signature = exported.signature
    known: dict[str, Dim] = {}
    if not signature.checks:
        return known
    for operand, aval in enumerate(avals):
        for axis, size in enumerate(aval.shape):
            known[size_name(operand, axis)] = size
    for origin in signature.origins:
        known[origin.symbol] = substituted(origin.solution, known)
    for check in signature.checks:
        if not check.holds(known):
            raise ValueError(_refusal(exported, avals, known, check))
    return known


def _refusal(
    exported: Exported, avals: Sequence[ShapedArray], known: Mapping[str, Dim], check: Check
) -> str:
    names = exported.signature.names
    shapes = [f"{name} of shape {a.shape}" for name, a in zip(names, avals, strict=True)]
    values = [f"{o.symbol} = {known[o.symbol]}" for o in exported.signature.origins]
    written = [f"{name}: {a.shape}" for name, a in zip(names, exported.in_avals, strict=True)]
    return message(
        f"call of the exported function {exported.fun_name}",
        given=f"{', '.join(shapes)}; so {', '.join(values)}",
        expected=f"{check.expected}, where the shapes are {', '.join(written)}",
        fix="Pass arguments of such shapes, or export the function with other constraints.",
    )


@final
class CallExported(RunsOnArrays):
    """Apply an exported program to the leaves of its arguments.

    Params:
        exported: the program.
    """

    name = "call_exported"
    multiple_results = True
    jvp = not_differentiable("exported programs have a pullback only")
    transpose = not_linear("exported programs are not known to be linear")

    def abstract_eval(self, *avals: Any, exported: Exported) -> list[Any]:
        known = sizes_for(exported, avals)
        return [
            aval.update(shape=[substituted(n, known) for n in aval.shape])
            for aval in exported.out_avals
        ]

    def execute(self, *operands: Array, exported: Exported) -> list[Array]:
        if exported.nr_devices > 1:
            _check_devices(exported, max([x.place.num_devices for x in operands], default=1))
        return list(exported.signature.compiled(*operands))

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, exported: Exported
    ) -> list[Value]:
        _check_devices(exported, b.module.num_devices)
        kept, artifact = exported.module_kept_var_idx, exported.mlir_module_serialized
        load_libraries(artifact)
        where = f"the exported function {exported.fun_name}"
        taken = [
            named_sharding_constraint(b, operands[i], exported._in_named_shardings[i]) for i in kept
        ]
        results = embedded_call(
            b,
            f"call_exported_{exported.fun_name}",
            module_of(artifact, where),
            _platform_number(b, exported),
            taken,
            ([exported.in_avals[i] for i in kept], exported.out_avals),
            outs,
        )
        shardings = exported._out_named_shardings
        pairs = zip(results, shardings, strict=True)
        return [named_sharding_constraint(b, x, place) for x, place in pairs]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[int | None],
        *,
        exported: Exported,
    ) -> tuple[list[Any], list[int]]:
        moved = [x if d is None else moveaxis(x, d, 0) for x, d in zip(operands, dims, strict=True)]
        mapped = [x for x, d in zip(moved, dims, strict=True) if d is not None]

        def one(members: Sequence[Any]) -> list[Any]:
            rest = iter(members)
            pairs = zip(moved, dims, strict=True)
            leaves = [x if d is None else next(rest) for x, d in pairs]
            return self.bind(*leaves, exported=exported)

        results = map_over(one, mapped)
        return results, [0] * len(results)


call_exported_p = CallExported()


def _platform_number(b: Builder, exported: Exported) -> int | None:
    """The number of the platform that is compiled for, if the module takes one.

    Raises:
        ValueError: if the program was not exported for it.
    """
    platforms = exported.platforms
    if b.module.platform not in platforms:
        if DisabledSafetyCheck.platform() not in exported.disabled_safety_checks:
            raise ValueError(
                message(
                    f"compiling a call of the exported function {exported.fun_name}",
                    given=f"a program for the platform {b.module.platform}",
                    expected=f"one of those that it was exported for: {', '.join(platforms)}",
                    fix="Export it with platforms=[...] that include this one.",
                )
            )
        return 0 if len(platforms) > 1 else None
    return platforms.index(b.module.platform) if len(platforms) > 1 else None


def _check_devices(exported: Exported, given: int) -> None:
    """Programs without shardings, for one device, run on any number."""
    wanted = exported.nr_devices
    if wanted not in (1, given):
        raise ValueError(
            message(
                f"call of the exported function {exported.fun_name}",
                given=f"a program on {given} devices",
                expected=f"one on {wanted}, as it was exported for",
                fix="Put the arguments on as many devices, with exported.in_shardings_jax(mesh).",
            )
        )
