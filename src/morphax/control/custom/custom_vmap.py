"""`custom_vmap`: functions whose batching the user defines.

Eagerly the function itself runs.  Under `vmap` or staging it becomes one equation that holds the
function and the rule (see `custom_vmap_primitive`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, final

from ... import tree
from ...core import Operand, aval_of, frames_hidden, is_value, stage_discharged
from ...core.compile_time import trace_of
from ...core.trace import Trace
from ...transforms.flattening import debug_info, function_label
from ...util.messages import message
from ...util.records import dataclass
from .custom_rules import BoundCall, bind_call
from .custom_vmap_primitive import custom_vmap_call_p


@final
@dataclass(frozen=True, slots=True)
class UserRule:
    """A rule of the user as a flat rule.

    Args:
        function: (axis size, which arguments are batched, *arguments) → (result, which of it).
        label: of the function whose rule it is.
        num_consts: leading operands that the function closes over; the rule does not get them.
        in_tree, out_tree: structures of the arguments and of the result.
        out_avals: of the result of one member.
    """

    function: Callable[..., Any]
    label: str
    num_consts: int
    in_tree: Any
    out_tree: Any
    out_avals: tuple[Any, ...]

    def __repr__(self) -> str:
        return repr(self.function)

    def __call__(
        self, size: int, batched: Sequence[bool], operands: Sequence[Operand]
    ) -> tuple[list[Any], list[bool]]:
        n = self.num_consts
        if any(batched[:n]):
            raise ValueError(
                self._message(
                    given="a call of a function that closes over a value under vmap",
                    expected="a function that gets all batched values as arguments",
                    fix="Pass the value as an argument, so that the rule gets it too.",
                )
            )
        args = self.in_tree.unflatten(operands[n:])
        flags = self.in_tree.unflatten(batched[n:])
        result = self.function(size, list(flags), *args)
        if not (isinstance(result, (tuple, list)) and len(result) == 2):
            raise ValueError(
                self._message(
                    given=f"an object of type {type(result).__name__}",
                    expected="a pair (result, which of its leaves are batched)",
                    fix="Return for instance (result, True).",
                )
            )
        return self._checked(size, *result)

    def _checked(self, size: int, result: Any, batched: Any) -> tuple[list[Any], list[bool]]:
        outs, structure = tree.flatten(result)
        flags, flag_structure = tree.flatten(batched)
        if structure != self.out_tree:
            raise ValueError(
                self._message(
                    given=f"a result of structure {structure}",
                    expected=f"{self.out_tree}, as the function returns",
                    fix="Return from the rule what the function returns.",
                )
            )
        if flag_structure != structure:
            raise ValueError(
                self._message(
                    given=f"batching flags of structure {flag_structure}",
                    expected=f"{structure}, one flag for each leaf of the result",
                    fix="Return a tree of booleans like the result.",
                )
            )
        for i, (x, flag) in enumerate(zip(outs, flags, strict=True)):
            self._check_leaf(size, i, x, bool(flag))
        return outs, [bool(flag) for flag in flags]

    def _check_leaf(self, size: int, position: int, x: object, batched: bool) -> None:
        """Raise an error unless the members of `x` are what the function returns."""
        expected = self.out_avals[position]
        shape = (size, *expected.shape) if batched else expected.shape
        found = aval_of(x) if is_value(x) else None
        if found is None or found.shape != shape or found.dtype != expected.dtype:
            paths = tree.leaves_with_path(self.out_tree.unflatten(range(len(self.out_avals))))
            raise (TypeError if found is None or found.shape == shape else ValueError)(
                self._message(
                    at=f", result{tree.keystr(paths[position][0])}",
                    given=f"{found if found is not None else repr(x)}",
                    expected=f"{expected.update(shape=shape)}, for a leaf that is "
                    f"{'batched' if batched else 'the same for all members'}",
                    fix="Put the batch axis in front, and say which leaves have one.",
                )
            )

    def _message(self, at: str = "", **parts: str) -> str:
        return message(f"the vmap rule of {self.label}{at}", **parts)


@final
class custom_vmap:
    """Define the batching of a function yourself.

    Args:
        fun: function of arrays or trees, of positional arguments.

    Derivatives work too: those of the batched function are derivatives of the rule.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> @jax.custom_batching.custom_vmap
        ... def f(x, y):
        ...     return x + y
        >>> @f.def_vmap
        ... def f_vmap(axis_size, in_batched, x, y):
        ...     print(axis_size, in_batched)
        ...     return x + y, True
        >>> jax.vmap(f, in_axes=(0, None))(jnp.arange(3.0), 1.0)
        3 [True, False]
        Array([1., 2., 3.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Any = None

    def def_vmap(self, vmap_rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Set the rule: (axis size, in_batched, *arguments) → (result, out_batched).

        Args:
            vmap_rule: gets arguments with their batch axis in front, and `in_batched`, a list with
                a tree of booleans for each argument.  It returns the result for all members and
                a tree of booleans that says which leaves have a batch axis, in front.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @frames_hidden
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        label = function_label(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(
                message(
                    f"custom_vmap function {label}",
                    given="a call before the batching is defined",
                    expected="a rule",
                    fix="Define it with @f.def_vmap.",
                )
            )
        call = bind_call("custom_vmap", self.fun, (), args, kwargs)
        trace = trace_of(call.leaves)
        if _may_be_batched(trace):
            outs = self._apply(trace, call, label)
        else:
            outs = call.flat(*call.leaves)
        return call.flat.out_tree.unflatten(outs)

    def _apply(self, trace: Trace, call: BoundCall, label: str) -> list[Any]:
        """Stage the function, and apply the equation that holds it."""
        flat = call.flat
        info = debug_info("custom_vmap", flat.function, flat.in_tree)
        jaxpr, captured = stage_discharged(flat, [aval_of(x) for x in call.leaves], info)
        args, _ = flat.in_tree.unflatten(range(len(call.leaves)))
        rule = UserRule(
            function=self.vmap_rule,
            label=label,
            num_consts=len(captured),
            in_tree=tree.structure(args),
            out_tree=flat.out_tree,
            out_avals=jaxpr.out_avals,
        )
        params = {
            "call": jaxpr,
            "rule": rule,
            "in_tree": tree.structure(([0] * len(captured), args)),
            "out_tree": flat.out_tree,
        }
        return trace.process(custom_vmap_call_p, [*captured, *call.leaves], params)


def _may_be_batched(trace: Trace | None) -> bool:
    """Whether the operation is seen by `vmap`, now or when a program that is staged is applied."""
    while trace is not None:
        if trace.stages or trace.maps:
            return True
        trace = trace.parent
    return False
