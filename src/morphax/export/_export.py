"""`export`: functions as StableHLO modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ..control.jit.jit import PjitFunction, jit
from ..control.jit.stages import Traced
from ..core import Jaxpr, ShapedArray, ShapeDtypeStruct, apply_jaxpr
from ..core.dce import eliminate_dead_code
from ..core.dims import check_one_scope
from ..engines.xla.annotations import annotations_of, not_annotated
from ..engines.xla.mlir_rules import LoweringRules, RegisteredRule
from ..engines.xla.portable import check_custom_calls, portable_artifact
from ..engines.xla.symbolic_program import module_for_all_sizes
from ..runtime.devices import default_platform
from ..runtime.named_sharding import NamedSharding
from ..runtime.places import Places
from ..transforms.derivatives import vjp
from ..util.messages import described, message
from ._checks import DisabledSafetyCheck
from ._exported import Exported, argument_names

minimum_supported_calling_convention_version: Final = 9
maximum_supported_calling_convention_version: Final = 10


def default_export_platform() -> str:
    """The platform for which functions are exported unless others are named.

    Example:
        >>> from morphax import export
        >>> export.default_export_platform() in ("cpu", "cuda", "rocm", "tpu")
        True
    """
    return default_platform()


def export(
    fun_jit: PjitFunction,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
    _override_lowering_rules: Sequence[tuple[Any, Any]] | None = None,
) -> Callable[..., Exported]:
    """Lower a function to a StableHLO module that other processes, later versions and others read.

    Args:
        fun_jit: what `jax.jit` returns.
        platforms: those it is for, among ``"cpu"``, ``"cuda"``, ``"rocm"`` and ``"tpu"``; that of
            the default device if left out.  What depends on them is in the module for each.
        disabled_checks: checks to do without.

    Returns:
        A function that takes arrays, or what stands for them, such as `jax.ShapeDtypeStruct` with
        shapes of `symbolic_shape`, and returns an `Exported`.

    Raises:
        ValueError: if `fun_jit` is no jitted function; and, by the function returned: if sizes do
            not tell what a symbol stands for, or there are custom calls that are not stable.
        NotImplementedError: if the function calls Python.

    Example:
        >>> import morphax as jax
        >>> from morphax import export
        >>> (n,) = export.symbolic_shape("n")
        >>> spec = jax.ShapeDtypeStruct((n, 2), "float32")
        >>> exported = export.export(jax.jit(lambda x: x[::2]))(spec)
        >>> exported.out_avals
        (ShapedArray(float32[floordiv(n + 1, 2),2]),)
        >>> exported.call(jax.numpy.ones((5, 2))).shape
        (3, 2)
    """
    if not isinstance(fun_jit, PjitFunction):
        raise ValueError(
            message(
                "export.export, argument fun_jit",
                given=described(fun_jit),
                expected="a jitted function",
                fix="Write export(jax.jit(f)).",
            )
        )
    names = _checked_platforms(platforms)
    for check in disabled_checks:
        if not isinstance(check, DisabledSafetyCheck):
            raise AttributeError(
                message(
                    "export.export, argument disabled_checks",
                    given=described(check),
                    expected="instances of DisabledSafetyCheck",
                    fix="Write disabled_checks=[DisabledSafetyCheck.platform()], for instance.",
                )
            )
    rules = {p: _as_rule(p, rule) for p, rule in _override_lowering_rules or ()}

    def do_export(*args: Any, **kwargs: Any) -> Exported:
        traced = fun_jit.trace(*args, **kwargs)
        return _exported(traced, names, tuple(disabled_checks), rules)

    return do_export


def _as_rule(primitive: Any, rule: Any) -> LoweringRules:
    rules = LoweringRules(primitive, primitive.lower)
    rules.by_platform[None] = RegisteredRule(rule)
    return rules


def _checked_platforms(platforms: Sequence[str] | None) -> tuple[str, ...]:
    if not platforms and not isinstance(platforms, str):
        return (default_export_platform(),)
    if isinstance(platforms, str) or not all([isinstance(name, str) for name in platforms]):
        raise ValueError(_refused_platforms(platforms))
    if "gpu" in platforms:
        raise RuntimeError(_refused_platforms(platforms))
    return tuple(platforms)


def _refused_platforms(platforms: object) -> str:
    return message(
        "export.export, argument platforms",
        given=f"{platforms!r}",
        expected="a sequence of names of platforms: 'cpu', 'cuda', 'rocm', 'tpu'",
        fix="Write platforms=['cpu', 'cuda'], for instance.",
    )


def _exported(
    traced: Traced,
    platforms: tuple[str, ...],
    disabled_checks: tuple[DisabledSafetyCheck, ...],
    rules: Any,
) -> Exported:
    name, jaxpr = traced.fun_name, traced.jaxpr
    _check_closed(traced)
    where = f"export of {name}"
    check_one_scope(where, [n for aval in jaxpr.in_avals for n in aval.shape])
    is_symbolic = not all([aval.is_static for aval in jaxpr.in_avals])
    kept = tuple(range(len(jaxpr.invars)))
    entry = jaxpr
    if not is_symbolic and not traced._params["keep_unused"]:
        entry, used = eliminate_dead_code(jaxpr)
        kept = tuple([i for i in kept if used[i]])
        entry = entry.replace(invars=tuple([entry.invars[i] for i in kept]))
    places = traced._place if type(traced._place) is Places else None
    num_devices = len(places.devices) if places is not None else 1
    annotated = not_annotated
    if places is not None and num_devices > 1:
        annotated = annotations_of(entry, [places.operands[i] for i in kept], places.results, {})
    names = argument_names(traced.in_tree)
    text = module_for_all_sizes(
        entry,
        name,
        platforms,
        annotated=annotated,
        names=[names[i] for i in kept],
        num_devices=num_devices,
        rules=rules,
    )
    allowed = [target for check in disabled_checks if (target := check.is_custom_call())]
    check_custom_calls(text, where, allowed)
    operands = (None,) * len(jaxpr.invars) if places is None else _named(places.operands)
    results = (None,) * len(jaxpr.outvars) if places is None else _named(places.results)
    return Exported(
        fun_name=name,
        in_tree=traced.in_tree,
        in_avals=jaxpr.in_avals,
        out_tree=traced.out_tree,
        out_avals=jaxpr.out_avals,
        _has_named_shardings=True,
        _in_named_shardings=operands,
        _out_named_shardings=results,
        in_shardings_hlo=(None,) * len(jaxpr.invars),
        out_shardings_hlo=(None,) * len(jaxpr.outvars),
        nr_devices=num_devices,
        platforms=platforms,
        ordered_effects=(),
        unordered_effects=(),
        disabled_safety_checks=disabled_checks,
        mlir_module_serialized=portable_artifact(text),
        calling_convention_version=maximum_supported_calling_convention_version,
        module_kept_var_idx=kept,
        uses_global_constants=is_symbolic or len(platforms) > 1,
        _get_vjp=lambda exported: _pullback(jaxpr, exported),
    )


def _check_closed(traced: Traced) -> None:
    if traced.captured:
        raise TypeError(
            message(
                f"export of {traced.fun_name}",
                given=f"a function that refers to {traced.captured[0].origin()}",
                expected="a function of its arguments and of concrete arrays",
                fix="Make the traced value an argument of the function.",
            )
        )


def _named(places: Sequence[Any]) -> tuple[NamedSharding | None, ...]:
    """Places over meshes of devices as such over the axes of the meshes alone."""
    return tuple(
        [
            NamedSharding(place.mesh.abstract_mesh, place.spec)
            if isinstance(place, NamedSharding)
            else None
            for place in places
        ]
    )


def _pullback(jaxpr: Jaxpr, exported: Exported) -> Exported:
    """The pullback of an exported program, exported like it."""
    cotangents = [aval.to_tangent_aval() for aval in exported.out_avals]
    count = len(exported.in_avals)

    def fun_vjp_jax(*args_and_out_cts_flat_jax: Any) -> tuple[Any, ...]:
        primals = args_and_out_cts_flat_jax[:count]
        _, pull = vjp(lambda *xs: apply_jaxpr(jaxpr, *xs), *primals)
        return tuple(pull(list(args_and_out_cts_flat_jax[count:])))

    specs = [_spec(aval) for aval in (*exported.in_avals, *cotangents)]
    checks = exported.disabled_safety_checks
    return export(jit(fun_vjp_jax), platforms=exported.platforms, disabled_checks=checks)(*specs)


def _spec(aval: ShapedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
