"""The stages of a jitted function: traced to a jaxpr, lowered to StableHLO, compiled by XLA.

    Traced --lower--> Lowered --compile--> Compiled

`jit` is made of them: a call looks up the `Traced` for its signature and applies it.  A program
with the same jaxpr and options is compiled once, whether a call or `compile` asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from operator import attrgetter, is_
from typing import Any, Protocol, final, runtime_checkable

from ... import tree
from ...array import Array
from ...array.colocation import any_committed
from ...core import (
    Cell,
    Jaxpr,
    Param,
    StagingTrace,
    current_trace,
    root_trace,
)
from ...core.trace import Trace
from ...engines.call_plan import CallPlan
from ...engines.engine import Options, Plan
from ...engines.reference.eager import EvalTrace, as_array
from ...runtime.places import Places
from ...runtime.sharding import default_place, whole_on
from ...tree import PyTreeDef
from ...util.messages import message
from ..bodies.lowered_types import low_avals, lowered, lowered_values
from ..plans import Where, binding_operands, place_of_call, plan_of
from .element_orders import Orders, in_order
from .jit_primitive import jit_p
from .lowered import CompilerOptions, Lowered, Lowering
from .operands import as_operands, only_arrays, stand_in
from .spreading import Spread
from .stage_info import Stage, one_platform

_place_of, _is_committed, _MOST_BOUND = attrgetter("place"), attrgetter("_committed"), 64


@runtime_checkable
class Wrapped(Protocol):
    """A function that can be traced, lowered and compiled before it is called, such as a `jit`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The jaxpr of the function for arguments like these."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The StableHLO module of the function for arguments like these."""


class Traced(Stage):
    """A function traced to a jaxpr for one signature of its arguments.

    Args:
        meta_tys_flat: avals of the arguments.
        params: parameters of the `jit` equation.  What its program captures comes first among the
            operands of that.
        in_tree, out_tree: see `Stage`.
        consts: tracers of outer traces that the function refers to.
        device: where to run, if the arguments may; `None` for the default device.
        spread: what the program itself says of its devices.
        orders: how elements lie in memory, where they do not lie row by row.

    Example:
        >>> import morphax as jax
        >>> traced = jax.jit(lambda x: 2.0 * x).trace(1.0)
        >>> traced.jaxpr
        { lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }
    """

    __slots__ = (
        "_argument_names",
        "_binding",
        "_bound_plans",
        "_committed",
        "_orders",
        "_params",
        "_place",
        "_plans",
        "_program",
        "_spread",
        "captured",
    )

    def __init__(
        self,
        meta_tys_flat: Sequence[Any],
        params: dict[str, Param],
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        consts: Sequence[Any],
        *,
        device: Any = None,
        spread: Spread | None = None,
        orders: Orders | None = None,
    ) -> None:
        jaxpr = params["jaxpr"]
        donated = params["donated_invars"][len(consts) :]
        donate_argnums = tuple([i for i, is_donated in enumerate(donated) if is_donated])
        super().__init__(in_tree, out_tree, meta_tys_flat, jaxpr.out_avals, donate_argnums)
        self._program: Jaxpr = jaxpr
        self.captured = consts
        self._params = {name: value for name, value in params.items() if name != "jaxpr"}
        self._committed = device is not None
        # Of a call that is bound to places, these; else one place for all that it takes.
        self._place: Any = default_place() if device is None else whole_on(device)
        self._spread = spread
        self._orders = orders
        self._binding: Sequence[int] = ()
        self._plans: dict[Where, Plan] = {}
        self._bound_plans: dict[Any, tuple[Plan, bool]] = {}
        self._argument_names: Sequence[str] | None = None

    def name_arguments(self) -> Sequence[str]:
        """One path per leaf of the arguments; asked for first while the function is known."""
        if self._argument_names is None:
            info = self._program.debug_info
            self._argument_names = info.argument_names(self.in_tree.num_leaves)
        return self._argument_names

    def where_bound(self, leaves: Sequence[Any]) -> Traced:
        """The same program, to be compiled for the place that these leaves are bound to."""
        bound = [stand_in(x) for x in leaves]
        if self._spread is not None:
            other = copy(self)
            where = self.in_order(self._spread_places(leaves), bound)
            other._place, other._spread, other._bound_plans = where, None, {}
            return other
        if self._committed or not any([type(x) is Array and x._committed for x in bound]):
            return self
        arrays = [i for i in self._binding_operands() if type(bound[i]) is Array]
        where, committed = place_of_call(self._program, bound, arrays, self._place)
        where = self.in_order(where, bound)
        if not committed or where is self._place:
            return self
        other = copy(self)
        other._place, other._bound_plans = where, {}
        return other

    def capturing(self, captured: Sequence[Any]) -> Traced:
        """The same program for a function that refers to these tracers."""
        if len(captured) == len(self.captured) and all(map(is_, captured, self.captured)):
            return self
        other = copy(self)
        other.captured = captured
        return other

    @property
    def is_reusable(self) -> bool:
        """Whether calls in other traces may use the program: it refers to no tracers."""
        return all([type(x) is Cell and x.home is root_trace() for x in self.captured])

    def __identity_state__(self) -> dict[str, Any]:
        return {"jaxpr": self._program, "out_tree": self.out_tree, **self._params}

    @property
    def jaxpr(self) -> Jaxpr:
        """The program."""
        return self._program

    @property
    def lojax(self) -> Traced:
        """The program on arrays: itself, unless it deals with types that users define.

        Example:
            >>> import morphax as jax
            >>> jax.jit(lambda x: 2.0 * x).trace(1.0).lojax.jaxpr
            { lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }
        """
        if not self._program.is_high:
            return self
        jaxpr, captured = lowered(self._program).jaxpr, lowered_values(self.captured)
        in_avals = jaxpr.in_avals[len(captured) :]
        numbers = [i for i, a in enumerate(self._program.in_avals) for _ in low_avals([a])]
        params = self._params | jit_p.operand_params(self._params, numbers) | {"jaxpr": jaxpr}
        in_tree = tree.structure((([0] * len(in_avals),), {}))
        out_tree = tree.structure([0] * len(jaxpr.outvars))
        return Traced(in_avals, params, in_tree, out_tree, captured)

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._params["name"]

    @property
    def out_avals(self) -> Any:
        """The result with avals as leaves."""
        return self.out_tree.unflatten(self._program.out_avals)

    def apply(self, leaves: Sequence[Any]) -> Any:
        """Call the function on leaves of its signature, in the current trace."""
        if type(current_trace()) is not EvalTrace:
            return self.bind(leaves)
        operands = self._operands(leaves)
        plan, committed = self._plan_for(operands)
        return self.out_tree.unflatten(plan.run(operands, committed))

    def _operands(self, leaves: Sequence[Any]) -> Sequence[Array]:
        if self._spread is not None:
            return [as_array(x) for x in leaves]
        if only_arrays(map(type, leaves)):
            return leaves
        return as_operands(leaves, self._flat_in_avals, (self._place,) * len(leaves))

    def _plan_for(self, operands: Sequence[Array]) -> tuple[Plan, bool]:
        """The plan of a call in eager mode, and whether its results are committed."""
        if self._spread is not None or (not self._committed and any_committed(operands)):
            return self._plan_bound(operands)
        return self._plans.get(self._place) or self._compile(self._place), self._committed

    def _plan_bound(self, operands: Sequence[Array]) -> tuple[Plan, bool]:
        """The plan for the places that operands are bound to, and whether its results are."""
        key = tuple(map(_place_of, operands)), tuple(map(_is_committed, operands))
        if (known := self._bound_plans.get(key)) is not None:
            return known
        where: Where
        if self._spread is not None:
            where, committed = self._spread_places(operands), True
        else:
            binding = self._binding or self._binding_operands()
            where, committed = place_of_call(self._program, operands, binding, self._place)
        where = self.in_order(where, operands)
        if len(self._bound_plans) >= _MOST_BOUND:
            self._bound_plans.clear()
        known = self._bound_plans[key] = self._plans.get(where) or self._compile(where), committed
        return known

    def _spread_places(self, leaves: Sequence[Any]) -> Places:
        assert self._spread is not None
        info = self._program.debug_info
        return self._spread.places(leaves, info.argument_name, f"jit of {info.function}")

    def plan(self) -> tuple[CallPlan | None, bool, Any]:
        """What `apply` does in eager mode, for callers in C++.

        Returns:
            how the program is called on the device, None if only Python can do it; whether its
            results are committed in any case; and their structure.
        """
        plan = self._plans.get(self._place)
        if plan is None:
            if self._plans or self._spread is not None:
                # It has run elsewhere only, and there may be places where it cannot run.
                return None, self._committed, self.out_tree
            plan = self._compile(self._place)
        steps = None if self.captured else plan.call_plan()
        return steps, self._committed, self.out_tree

    def plan_bound_by(self, leaves: Sequence[Any]) -> tuple[CallPlan | None, bool, Any]:
        """See `plan`: what `apply` does with leaves that are committed to the places of these.

        Raises:
            ValueError: if no program takes operands that are committed to such places together.
        """
        plan, committed = self._plan_for(self._operands(leaves))
        steps = None if self.captured else plan.call_plan()
        return steps, committed, self.out_tree

    def bind(self, leaves: Sequence[Any]) -> Any:
        """The call as one operation of the current trace, whichever that is."""
        return self.out_tree.unflatten(self._stage_out(current_trace(), leaves))

    def _binding_operands(self) -> Sequence[int]:
        """See `binding_operands`; found when an operand is committed for the first time."""
        self._binding = binding_operands(self._program, self._params["keep_unused"])
        return self._binding

    def _compile(self, where: Where) -> Plan:
        """The plan for some places, remembered for further calls."""
        # In eager mode all captured tracers have leaked; this says so.
        for x in self.captured:
            as_array(x)
        found = self._plans[where] = self.compiled(where)
        return found

    def compiled(self, where: Where, compiler_options: CompilerOptions | None = None) -> Plan:
        """The plan for some places, with options besides those given to `jit`."""
        params = self._params
        flags = dict(params["compiler_options"]) | (compiler_options or {})
        options = Options.chosen(
            params["name"], self.donate_argnums, bool(params["keep_unused"]), flags.items()
        )
        return plan_of(self._program, options, self.in_order(where))

    def in_order(self, where: Where, operands: Sequence[Any] = ()) -> Where:
        """The places of a call, with the orders in which elements lie in memory."""
        return in_order(where, self._program, self._orders, operands)

    def _stage_out(self, trace: Trace, leaves: Sequence[Any]) -> list[Any]:
        """Write the call into another program, or its equations if it is to be inlined."""
        operands = [*self.captured, *leaves]
        if _is_staging(trace):
            if self._params["compiler_options"]:
                raise ValueError(self._misplaced_options())
            if self._params["inline"]:
                return trace.splice(self.jaxpr, operands)
        results: list[Any] = jit_p.bind(*operands, jaxpr=self.jaxpr, **self._params)
        return results

    def _misplaced_options(self) -> str:
        return message(
            f"jit of {self.jaxpr.debug_info.function}, argument compiler_options",
            given=f"{dict(self._params['compiler_options'])} in a function that another jit calls",
            expected="compiler options of the outermost jit, which is compiled as a whole",
            fix="Pass compiler_options to the outer jit.",
        )

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """The program as a StableHLO module.

        Args:
            lowering_platforms: the platform to lower for, by default that of the device.
        """
        if self.captured:
            raise TypeError(
                message(
                    f"lower, function {self.jaxpr.debug_info.function}",
                    given=f"a function that refers to {self.captured[0].origin()}",
                    expected="a function of its arguments and of concrete arrays",
                    fix="Make the traced value an argument of the function.",
                )
            )
        if self._program.is_high:
            return self.lojax.lower(lowering_platforms=lowering_platforms)
        platform = one_platform(lowering_platforms) or self._place.program_platform
        return Lowered(Lowering(self, platform), self.args_info, self.out_tree)


@final
class BoundTraced(Traced):
    """A function whose calls are operations of the current trace, in eager mode too.

    It takes references, as arguments or because it closes over them, or deals with high types.
    """

    __slots__ = ()

    def apply(self, leaves: Sequence[Any]) -> Any:
        return self.bind(leaves)

    def plan(self) -> tuple[None, bool, Any]:
        return None, False, self.out_tree

    def plan_bound_by(self, leaves: Sequence[Any]) -> tuple[None, bool, Any]:
        return self.plan()

    def bind(self, leaves: Sequence[Any]) -> Any:
        operands = [*self.captured, *leaves]
        return self.out_tree.unflatten(jit_p.bind(*operands, jaxpr=self.jaxpr, **self._params))


def _is_staging(trace: Trace) -> bool:
    """Whether what the trace does ends up in a jaxpr."""
    while trace.parent is not None:
        trace = trace.parent
    return isinstance(trace, StagingTrace)
