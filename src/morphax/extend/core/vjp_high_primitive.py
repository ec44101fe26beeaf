"""`VJPHiPrimitive`: an operation with a fixed signature of trees, and rules of derivatives.

Unlike other operations an object is one *application*: it knows the types of its operands and
result, and its parameters.  In programs it is the parameter of the primitive `call_hi_primitive`.
`expand` computes it by others; the other methods are its rules, each needed by one transformation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

from ... import tree
from ...control.custom.custom_jvp import apply_jvp_rule, linearize_jvp_rule
from ...control.custom.custom_vjp_primitives import push_through, record_rules
from ...core import (
    AbstractValue,
    BatchAxes,
    Effects,
    NoRule,
    Zero,
    aval_of,
    current_trace,
    high_types,
    is_undefined_primal,
    is_zero,
    set_current_trace,
)
from ...core import Primitive as CorePrimitive
from ...core.trace import Trace
from ...lax.ground.linear_structure import add_tangents
from ...lax.reference.ref_binding import unwrapped
from ...lax.reference.references import as_references
from ...transforms.batching import BatchTrace
from ...transforms.jvp import JVPTrace
from ...transforms.linearize import LinearizeTrace
from ...transforms.vmap import vmap
from ...util.messages import message
from .derived_rules import follows, jvp_from_lin
from .high_primitive import as_any_value


@final
class CotangentSum:
    """Where a rule puts the cotangent of an operand; several contributions add up."""

    __slots__ = ("aval", "value")

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.value: Any = None

    def accum(self, x: Any) -> None:
        """Add a contribution."""
        if not is_zero(x):
            self.value = x if self.value is None else add_tangents(self.value, x)

    def freeze(self) -> Any:
        """The sum, `Zero` if there was none."""
        return Zero(self.aval.to_ct_aval()) if self.value is None else self.value


class VJPHiPrimitive:
    """Base of operations with a signature of trees.

    Before it calls the `__init__` of this class, that of a subclass sets `in_avals`, a tuple with a
    tree of types per argument; `out_aval`, the tree of types of the result; and `params`, a
    dictionary of what else the operation depends on, which become attributes.

    Raises:
        AttributeError: one of these is not set.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.hijax import VJPHiPrimitive
        >>> class Square(VJPHiPrimitive):
        ...     def __init__(self, aval):
        ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        ...         super().__init__()
        ...
        ...     def expand(self, x):
        ...         return x * x
        ...
        ...     def vjp_fwd(self, nzs_in, x):
        ...         return self(x), x
        ...
        ...     def vjp_bwd_retval(self, res, outgrad):
        ...         return (2.0 * res * outgrad,)
        >>> jax.grad(lambda x: Square(jax.typeof(x))(x))(3.0)
        Array(6., dtype=float32, weak_type=True)
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]
    effects: Effects = frozenset()

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(
                    message(
                        f"{type(self).__name__}.__init__",
                        given=f"an object without `{name}`",
                        expected="in_avals, out_aval and params, set by the subclass",
                        fix=f"Set self.{name} before the call of super().__init__().",
                    )
                )
        self.in_avals_flat, self.in_tree = tree.flatten(self.in_avals)
        self.out_avals_flat, self.out_tree = tree.flatten(self.out_aval)
        vars(self).update(self.params)

    def expand(self, *args: Any) -> Any:
        """The operation, computed by others."""
        raise self._missing("", "expand")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        """Which leaves are differentiated, arguments → result, residuals: for `grad`."""
        raise self._missing("grad", "vjp_fwd")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Residuals, cotangent of the result → cotangents, which go to `accum` of `arg_accums`."""
        grads = self.vjp_bwd_retval(res, outgrad)
        sums = self.in_tree.flatten_up_to(arg_accums)
        for total, ct in zip(sums, self.in_tree.flatten_up_to(grads), strict=True):
            if isinstance(total, CotangentSum) and ct is not None:
                total.accum(ct)

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """Residuals, cotangent of the result → a cotangent per argument."""
        raise self._missing("grad", "vjp_bwd` or `vjp_bwd_retval")

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """Arguments, tangents of them → result, tangent of it."""
        raise self._missing("jvp", "jvp")

    def lin(self, nzs_in: Any, *primals: Any) -> Any:
        """Which leaves are differentiated, arguments → result, residuals: for `linearize`."""
        raise self._missing("linearize", "lin` and `linearized")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """Residuals, tangents of the arguments → tangent of the result."""
        raise self._missing("linearize", "lin` and `linearized")

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
        """Cotangent of the result, arguments or where the cotangents of them are to be added."""
        raise self._missing("transpose", "transpose")

    def batch(self, axis_data: Any, args: Any, dims: Any) -> Any:
        """The mapped axis, arguments, where they have it → result, where that has it."""
        out_dims = self.batch_dim_rule(axis_data, dims)
        mapped = vmap(
            self.expand, dims, out_dims, axis_name=axis_data.name, axis_size=axis_data.size
        )
        return mapped(*args), out_dims

    def batch_dim_rule(self, axis_data: Any, dims: Any, /) -> Any:
        """The mapped axis, where arguments have it → where the result has it."""
        raise self._missing("vmap", "batch` or `batch_dim_rule")

    def dce(self, used_outs: Any) -> Any:
        """Which results are used → which arguments are, and the operation for these alone."""
        raise self._missing("dead code elimination", "dce")

    def remat(self, _policy: Any, *args: Any) -> Any:
        """The operation where its results are recomputed: as `expand`, with all arguments saved."""
        return self.expand(*args), args

    def check(self, *arg_tys: Any) -> None:
        """Raise an error for types of arguments that the operation does not take."""

    def staging(self, trace: Any, source_info: Any, *args: Any) -> Any:
        """Write the operation into a program."""
        with set_current_trace(trace):
            return self(*args)

    def __call__(self, *args: Any) -> Any:
        """Apply the operation."""
        leaves = self._leaves(args)
        self.check(*self.in_tree.unflatten([aval_of(x) for x in leaves]))
        return self.out_tree.unflatten(call_hi_primitive_p.bind(*leaves, _prim=self))

    def _leaves(self, args: tuple[Any, ...]) -> list[Any]:
        leaves, given = tree.flatten(args)
        if given != self.in_tree:
            raise AssertionError(
                message(
                    f"{type(self).__name__}",
                    given=f"arguments of the structure {given}",
                    expected=f"that of in_avals, {self.in_tree}",
                    fix="Pass what the operation was made for.",
                )
            )
        return leaves

    def _missing(self, use: str, method: str) -> NotImplementedError:
        return NotImplementedError(
            message(
                f"{type(self).__name__}{use and f', {use}'}",
                given=f"the class {type(self).__name__} without the method `{method}`",
                expected=f"`{method}`, for {use} support" if use else f"`{method}`",
                fix=f"{type(self)} must implement `{method}`.",
            )
        )

    def overrides(self, *methods: str) -> bool:
        """Whether the subclass defines one of these methods."""
        base = VJPHiPrimitive
        return any(getattr(type(self), name) is not getattr(base, name) for name in methods)

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.params}]"

    def _key(self) -> tuple[Any, ...]:
        parameters = tuple(sorted(self.params.items()))
        return type(self), self.in_tree, tuple(self.in_avals_flat), parameters

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()


@final
class CallHiPrimitive(CorePrimitive):
    """Apply an operation of the user to the leaves of its arguments.

    Params:
        _prim: the operation, a `VJPHiPrimitive`.
    """

    name = "call_hi_primitive"
    multiple_results = True
    typed_on_mesh = takes_high_types = True
    lower = NoRule("lower", "what it is computed by is compiled, see to_lojax")

    def abstract_eval(self, *avals: AbstractValue, _prim: VJPHiPrimitive) -> Sequence[Any]:
        return _prim.out_avals_flat

    def effects(self, **params: Any) -> Effects:
        return frozenset(params["_prim"].effects) | high_types

    def bind(self, *operands: Any, **params: Any) -> Any:
        return as_references(current_trace().process(self, unwrapped(operands), params))

    def to_lojax(self, *operands: Any, _prim: VJPHiPrimitive) -> list[Any]:
        return self._results(_prim, _prim.expand(*_prim.in_tree.unflatten(as_references(operands))))

    def process_eval(self, trace: Trace, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        with set_current_trace(trace):
            outs = self.to_lojax(*operands, **params)
        return list(map(as_any_value, outs))

    def process_jvp(self, trace: JVPTrace, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        prim: VJPHiPrimitive = params["_prim"]
        if prim.overrides("vjp_fwd") and not prim.overrides("jvp"):
            return push_through(trace, operands, lambda *given: self._forward(prim, *given))
        return apply_jvp_rule(trace, operands, self._rule(prim, prim.jvp))

    def process_linearize(
        self, trace: LinearizeTrace, operands: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        prim: VJPHiPrimitive = params["_prim"]
        by_hand = prim.overrides("vjp_fwd") and not follows(type(prim).vjp_fwd)
        is_pulled = by_hand and not trace.pushes
        if prim.overrides("lin", "jvp") and not is_pulled:
            push = partial(jvp_from_lin, prim) if prim.overrides("lin") else prim.jvp
            return linearize_jvp_rule(trace, operands, self._rule(prim, push))
        return record_rules(trace, operands, lambda *given: self._forward(prim, *given))

    def _rule(self, prim: VJPHiPrimitive, push: Callable[..., Any]) -> Callable[..., Any]:
        """A method for trees of primals and tangents as one for leaves."""

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            unflatten = prim.in_tree.unflatten
            out, t = push(unflatten(as_references(primals)), unflatten(as_references(tangents)))
            return self._results(prim, out), self._results(prim, t)

        return rule

    def _forward(
        self, prim: VJPHiPrimitive, primals: Sequence[Any], active: Sequence[bool]
    ) -> tuple[list[Any], list[Any], Callable[..., list[Any]]]:
        """Run the forward rule; results, residuals, and the pullback that goes with them."""
        unflatten = prim.in_tree.unflatten
        out, residuals = prim.vjp_fwd(unflatten(active), *unflatten(as_references(primals)))
        leaves, structure = tree.flatten(residuals)

        def pull(given: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            sums = [CotangentSum(a) if on else None for a, on in zip(avals, active, strict=True)]
            outgrad = prim.out_tree.unflatten(as_references(cts))
            prim.vjp_bwd(structure.unflatten(as_references(given)), outgrad, *unflatten(sums))
            return [None if s is None else unwrapped([s.freeze()])[0] for s in sums]

        avals = [aval_of(x) for x in primals]
        return self._results(prim, out), unwrapped(leaves), pull

    def transpose(self, cts: Sequence[Any], *operands: Any, _prim: VJPHiPrimitive) -> list[Any]:
        given = [
            CotangentSum(x.aval) if is_undefined_primal(x) else x for x in as_references(operands)
        ]
        ct = _prim.out_tree.unflatten(as_references(cts))
        _prim.transpose(ct, *_prim.in_tree.unflatten(given))
        return [x.freeze() if isinstance(x, CotangentSum) else None for x in given]

    def process_batch(
        self, trace: BatchTrace, operands: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        pairs = [trace.split(x) for x in operands]
        with set_current_trace(trace.parent):
            outs, dims = self.batch(
                trace.axes, [x for x, _ in pairs], [d for _, d in pairs], **params
            )
        return [trace.wrap(x, d) for x, d in zip(outs, dims, strict=True)]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        _prim: VJPHiPrimitive,
    ) -> tuple[list[Any], list[Any]]:
        unflatten = _prim.in_tree.unflatten
        out, out_dims = _prim.batch(axes, unflatten(as_references(operands)), unflatten(dims))
        return self._results(_prim, out), _prim.out_tree.flatten_up_to(out_dims)

    def _results(self, prim: VJPHiPrimitive, out: Any) -> list[Any]:
        """The leaves of a result of the user's method."""
        return unwrapped(prim.out_tree.flatten_up_to(out))


call_hi_primitive_p = CallHiPrimitive()
