"""The last stage of a jitted function: a program of XLA, for arguments of one signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

from ... import tree
from ...array import Array
from ...array.colocation import placement_of
from ...config import current as current_config
from ...core import AbstractRef, ShapedArray, Tracer, aval_of, is_value
from ...engines.call_plan import CallPlan
from ...engines.engine import Plan
from ...runtime.layouts import lies_alike
from ...runtime.sharding import Sharding
from ...tree import PyTreeDef
from ...util.compiled import part
from ...util.messages import described, message
from .operands import as_operands
from .stage_info import Stage, of_args_info

native = part("calls")


@final
class CompiledProgram(NamedTuple):
    """A program that is ready to run, with what is known of its function.

    Args:
        function: name and place of the function, for error text.
        plan: what the engine has made of it.
        argument_names: one path per leaf of the arguments.
        call_observed: calls the function on leaves, under options that watch execution, or where
            leaves are references.
        by_xla: gives the plan that XLA makes of the same program, if that is another one.
    """

    function: str
    plan: Plan
    argument_names: Sequence[str]
    call_observed: Callable[[Sequence[Any]], Any]
    by_xla: Callable[[], Plan] | None = None


@final
class Compiled(Stage):
    """A function compiled for one signature; call it with arguments of that signature only.

    Args:
        executable: the program.
        const_args: none: constants are part of the program.
        args_info: ``(args, kwargs)`` with `ArgInfo` leaves.
        out_tree: the structure of the result.
        no_kwargs: whether it takes arguments by position only.
        in_types, out_types: avals of arguments and results, if they are not those of `args_info`
            and of the program.

    Raises:
        ValueError: there are `const_args`.

    Example:
        >>> import morphax as jax
        >>> double = jax.jit(lambda x: 2 * x).lower(1.0).compile()
        >>> double(21.0)
        Array(42., dtype=float32, weak_type=True)
    """

    __slots__ = (
        *("_argument_names", "_by_xla", "_call_observed", "_calls", "_function", "_no_kwargs"),
        "_plan",
        "_takes_references",
    )

    def __init__(
        self,
        executable: CompiledProgram,
        const_args: Sequence[Any],
        args_info: Any,
        out_tree: PyTreeDef,
        no_kwargs: bool = False,
        in_types: Sequence[Any] | None = None,
        out_types: Sequence[Any] | None = None,
    ) -> None:
        if const_args:
            raise ValueError(
                message(
                    "Compiled, argument const_args",
                    given=f"{len(const_args)} arrays",
                    expected="none: constants are part of the program",
                    fix="Compile a function with Lowered.compile.",
                )
            )
        in_tree, in_avals, donated = of_args_info(args_info)
        in_avals = in_avals if in_types is None else tuple(in_types)
        out_avals = executable.plan.out_avals if out_types is None else out_types
        super().__init__(in_tree, out_tree, in_avals, out_avals, donated)
        self._function, self._plan, self._argument_names, self._call_observed = executable[:4]
        self._by_xla = executable.by_xla
        self._no_kwargs = no_kwargs
        self._calls = None if native is None else native.CallTable()
        self._takes_references = any([type(a) is AbstractRef for a in self._flat_in_avals])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function on arguments without the static ones.

        Raises:
            TypeError: structure, shapes or dtypes differ from those it was compiled for.
            ValueError: the arguments are on another device.
            NotImplementedError: it takes no arguments by name.
        """
        if kwargs and self._no_kwargs:
            raise NotImplementedError(self._no_names(kwargs))
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(self._wrong_structure(in_tree))
        avals = self._flat_in_avals
        for position, (x, aval) in enumerate(zip(leaves, avals, strict=True)):
            if type(x) is not Array or x.aval is not aval:
                self._check(position, x, aval)
        if self._takes_references or current_config().debugs_execution:
            return self._call_observed(leaves)
        results = self.apply(leaves)
        if self._calls is not None:
            given = tuple(map(aval_of, leaves))
            trees = tree.structure(args), tree.structure(kwargs)
            self._calls.add(given, *trees, (), None, self)
        return results

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The same as calling the object."""
        return self(*args, **kwargs)

    def apply(self, leaves: Sequence[Any]) -> Any:
        """Run the program on leaves of its signature."""
        operands = self._operands(leaves)
        results = self._plan.run(operands, self._check_placement(operands))
        return self.out_tree.unflatten(results)

    def _operands(self, leaves: Sequence[Any]) -> list[Array]:
        return as_operands(leaves, self._plan.in_avals, self._plan.places.operands)

    def plan(self) -> tuple[CallPlan | None, bool, Any]:
        """What `apply` does, for callers in C++; see `Traced.plan`."""
        return self._plan.call_plan(), False, self.out_tree

    def plan_bound_by(self, leaves: Sequence[Any]) -> tuple[CallPlan | None, bool, Any]:
        """See `Traced.plan_bound_by`."""
        committed = self._check_placement(self._operands(leaves))
        return self._plan.call_plan(), committed, self.out_tree

    def as_text(self, dialect: str | None = None) -> str:
        """The program after compilation.

        Args:
            dialect: `None` for the HLO text, as XLA optimises it, ``"engine"`` for which engine
                runs the program and why, ``"native"`` for the text of the native engine, if that
                is the one: the language of LLVM.

        Raises:
            ValueError: there is no such text.
        """
        if dialect == "engine":
            return self._plan.choice
        if dialect is None:
            return self.plan_by_xla().as_text()
        runs_natively = self._by_xla is not None
        if dialect == "native" and runs_natively:
            return self._plan.as_text()
        raise ValueError(
            message(
                f"{self._label}, as_text, argument dialect",
                given=repr(dialect),
                expected="None, 'engine' or 'native'" if runs_natively else "None or 'engine'",
                fix="Ask Lowered.as_text for the text before compilation.",
            )
        )

    def cost_analysis(self) -> dict[str, float]:
        """What XLA estimates of the optimised program: operations and bytes moved."""
        return self._plan.cost_analysis()

    def memory_analysis(self) -> Any:
        """How many bytes arguments, results, temporaries and code take up."""
        return self._plan.memory_analysis()

    def plan_by_xla(self) -> Plan:
        """The plan that XLA makes of the program, which can be taken to other processes."""
        return self._plan if self._by_xla is None else self._by_xla()

    def runtime_executable(self) -> Any:
        """The executable of jaxlib; made for it where another engine runs the program."""
        return self.plan_by_xla().runtime_executable()

    @property
    def input_shardings(self) -> Any:
        """``(args, kwargs)`` with the sharding of each array, `None` for one that is not used."""
        return tree.map(lambda f: f.sharding, self.input_formats)

    @property
    def output_shardings(self) -> Any:
        """The result with the sharding of each array as leaves."""
        return tree.map(lambda f: f.sharding, self.output_formats)

    @property
    def input_formats(self) -> Any:
        """``(args, kwargs)`` with `Format` leaves, empty ones for what is not used."""
        return self.in_tree.unflatten(self._plan.operand_formats())

    @property
    def output_formats(self) -> Any:
        """The result with `Format` leaves."""
        return self.out_tree.unflatten(self._plan.result_formats())

    @property
    def out_info(self) -> Any:
        """The result with `ShapeDtypeStruct` leaves, which know the `Format` of each array."""
        infos = super().out_info
        return tree.map(lambda info, f: info.update(sharding=f), infos, self.output_formats)

    @property
    def _label(self) -> str:
        return f"compiled {self._function}"

    def _wrong_structure(self, in_tree: PyTreeDef) -> str:
        return message(
            f"{self._label}, arguments",
            given=f"(args, kwargs) of the structure {in_tree}",
            expected=f"{self.in_tree}, for which it was compiled",
            fix="Pass arguments by position or by name as when it was lowered, "
            "but static arguments not at all.",
        )

    def _no_names(self, kwargs: Mapping[str, Any]) -> str:
        return message(
            f"{self._label}, arguments",
            given=f"{', '.join(kwargs)} by name",
            expected="arguments by position only",
            fix="Pass them by position.",
        )

    def _check(self, position: int, x: Any, aval: ShapedArray) -> None:
        """Raise `TypeError` if `x` is not an argument that the program was compiled for."""
        if isinstance(x, Tracer):
            given = x.origin()
            expected = "a concrete array: a compiled function cannot be transformed"
            fix = "Transform the function first, then lower and compile it."
        elif not is_value(x):
            given, expected = described(x), f"an array {aval}"
            fix = "Convert the argument with jnp.asarray."
        else:
            given, expected = str(aval_of(x)), f"{aval}, for which it was compiled"
            fix = "Convert the argument, or lower and compile again for arguments like this one."
            # Weak types may differ: they matter while tracing only.
            if given.lstrip("~") == str(aval).lstrip("~"):
                return
        where = f"{self._label}, argument {self._argument_names[position]}"
        raise TypeError(message(where, given=given, expected=expected, fix=fix))

    def _check_placement(self, operands: Sequence[Array]) -> bool:
        """Whether operands are committed; `ValueError` if they are to other places."""
        committed = False
        for x, place in zip(operands, self._plan.places.operands, strict=True):
            if x._committed:
                # Elements that lie in another order are copied.
                own, plain = x.place.own_memory, place.plain
                if x.place is not place and own is not plain and not lies_alike(own, plain, x.ndim):
                    raise ValueError(self._wrong_place(operands, place))
                committed = True
        return committed

    def _wrong_place(self, operands: Sequence[Array], expected: Sharding) -> str:
        place, _ = placement_of(operands, self._label, lambda i: self._argument_names[i])
        return message(
            f"{self._label}, arguments",
            given=f"arrays on {place.brief!r}",
            expected=f"arrays on {expected.brief!r}, for which it was compiled",
            fix="Move the arguments there with jax.device_put.",
        )
