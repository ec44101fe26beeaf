"""The stages of a jitted function: traced to a jaxpr, lowered to StableHLO, compiled by XLA.

    Traced --lower--> Lowered --compile--> Compiled

`jit` is made of them: a call looks up the `Traced` for its signature and applies it.  A program with
the same jaxpr and options is compiled once, whether it was asked for by a call or by `compile`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

from .. import tree
from ..array import Array
from ..core import (
    Jaxpr,
    ShapeDtypeStruct,
    StagingTrace,
    Trace,
    Tracer,
    aval_of,
    current_trace,
    is_value,
)
from ..engines.reference.eager import EvalTrace, as_array
from ..engines.xla import inspection
from ..engines.xla.buffers import default_device
from ..engines.xla.executable import Executable
from ..engines.xla.lowering import LoweredProgram, lower
from ..util.messages import message
from .executables import compiled, run
from .jit_primitive import jit_p

CompilerOptions = dict[str, str | bool | int | float]


@final
@dataclass(frozen=True, slots=True)
class ArgInfo:
    """One array argument of a staged function: its aval, and whether it is donated."""

    _aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return self._aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """The dtype of its elements."""
        return self._aval.dtype


@runtime_checkable
class Wrapped(Protocol):
    """A function that can be traced, lowered and compiled before it is called; `jit` returns one."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The jaxpr of the function for arguments like these."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The StableHLO module of the function for arguments like these."""


class Stage:
    """What all stages know of arguments and results.

    Args:
        in_tree: structure of ``(args, kwargs)``, without the static arguments.
        out_tree: structure of the result.
        jaxpr: the program; what it captures comes first among its operands.
        donate_argnums: which leaves of the arguments are donated.
    """

    __slots__ = ("_program", "donate_argnums", "in_tree", "out_tree")

    def __init__(
        self, in_tree: Any, out_tree: Any, jaxpr: Jaxpr, donate_argnums: tuple[int, ...]
    ) -> None:
        self.in_tree = in_tree
        self.out_tree = out_tree
        self._program = jaxpr
        self.donate_argnums = donate_argnums

    @property
    def _flat_in_avals(self) -> tuple[Any, ...]:
        avals = self._program.in_avals
        return avals[len(avals) - self.in_tree.num_leaves :]

    @property
    def in_avals(self) -> Any:
        """``(args, kwargs)`` with avals as leaves."""
        return self.in_tree.unflatten(self._flat_in_avals)

    @property
    def args_info(self) -> Any:
        """``(args, kwargs)`` with `ArgInfo` leaves."""
        donated = self.donate_argnums
        infos = [ArgInfo(aval, i in donated) for i, aval in enumerate(self._flat_in_avals)]
        return self.in_tree.unflatten(infos)

    @property
    def out_info(self) -> Any:
        """The result with `ShapeDtypeStruct` leaves."""
        avals = self._program.out_avals
        return self.out_tree.unflatten(
            [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in avals]
        )


@final
class Traced(Stage):
    """A function traced to a jaxpr for one signature of its arguments.

    Args:
        jaxpr, in_tree, out_tree, donate_argnums: see `Stage`.
        captured: tracers of outer traces that the function refers to.
        params: parameters of the `jit` equation, other than the jaxpr.
        device: where to run, `None` for the default device.
    """

    __slots__ = ("_argument_names", "_captured", "_device", "_executable", "_params")

    def __init__(
        self,
        jaxpr: Jaxpr,
        in_tree: Any,
        out_tree: Any,
        donate_argnums: tuple[int, ...],
        *,
        captured: Sequence[Any],
        params: dict[str, Any],
        device: Any,
    ) -> None:
        super().__init__(in_tree, out_tree, jaxpr, donate_argnums)
        self._captured = captured
        self._params = params
        self._device = device
        self._executable: Executable | None = None
        self._argument_names: Sequence[str] | None = None

    def name_arguments(self) -> Sequence[str]:
        """One path per leaf of the arguments; asked for first while the function is known."""
        if self._argument_names is None:
            info = self._program.debug_info
            self._argument_names = [info.argument_name(i) for i in range(self.in_tree.num_leaves)]
        return self._argument_names

    @property
    def captures(self) -> bool:
        """Whether the function refers to tracers of outer traces."""
        return bool(self._captured)

    @property
    def jaxpr(self) -> Jaxpr:
        """The program."""
        return self._program

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._params["name"]  # type: ignore[no-any-return]

    @property
    def out_avals(self) -> Any:
        """The result with avals as leaves."""
        return self.out_tree.unflatten(self._program.out_avals)

    def apply(self, leaves: Sequence[Any]) -> Any:
        """Call the function on leaves of its signature, in the current trace."""
        trace = current_trace()
        if type(trace) is not EvalTrace:
            results = self._stage_out(trace, leaves)
        else:
            operands = [x if type(x) is Array else as_array(x) for x in leaves]
            executable = self._executable or self._compile()
            if self.donate_argnums:
                results = run(executable, operands, self.donate_argnums, self.jaxpr.debug_info)
            else:
                results = executable(operands)
        return self.out_tree.unflatten(results)

    def _compile(self) -> Executable:
        # In eager mode all captured tracers have leaked; this says so.
        for x in self._captured:
            as_array(x)
        params = self._params
        self._executable = compiled(
            self.jaxpr,
            params["name"],
            self.donate_argnums,
            params["compiler_options"],
            keep_unused=params["keep_unused"],
            device=self._device,
        )
        return self._executable

    def _stage_out(self, trace: Trace, leaves: Sequence[Any]) -> list[Any]:
        """Write the call into another program, or its equations if it is to be inlined."""
        operands = [*self._captured, *leaves]
        if _is_staging(trace):
            if self._params["compiler_options"]:
                raise ValueError(self._misplaced_options())
            if self._params["inline"]:
                return trace.splice(self.jaxpr, operands)
        return jit_p.bind(*operands, jaxpr=self.jaxpr, **self._params)

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
        if self._captured:
            raise TypeError(
                message(
                    f"lower, function {self.jaxpr.debug_info.function}",
                    given=f"a function that refers to {self._captured[0].origin()}",
                    expected="a function of its arguments and of concrete arrays",
                    fix="Make the traced value an argument of the function.",
                )
            )
        return Lowered(self, _one_platform(lowering_platforms))


def _is_staging(trace: Trace) -> bool:
    """Whether what the trace does ends up in a jaxpr."""
    while trace.parent is not None:
        trace = trace.parent
    return isinstance(trace, StagingTrace)


def _one_platform(platforms: Sequence[str] | None) -> str | None:
    if platforms is None or len(platforms) == 1:
        return platforms[0] if platforms else None
    raise ValueError(
        message(
            "lower, argument lowering_platforms",
            given=f"{tuple(platforms)}",
            expected="one platform",
            fix="Lower once for each platform.",
        )
    )


@final
class Lowered(Stage):
    """A function lowered to a StableHLO module.

    Args:
        traced: the function.
        platform: where it will run, `None` for that of its device.
    """

    __slots__ = ("_module", "_platform", "_traced")

    def __init__(self, traced: Traced, platform: str | None) -> None:
        super().__init__(traced.in_tree, traced.out_tree, traced.jaxpr, traced.donate_argnums)
        self._traced = traced
        device = traced._device
        self._platform = platform or (device or default_device()).platform
        self._module = self._lower(locations=False)

    def _lower(self, *, locations: bool) -> LoweredProgram:
        params = self._traced._params
        return lower(
            self._program,
            params["name"],
            self.donate_argnums,
            self._platform,
            keep_unused=params["keep_unused"],
            locations=locations,
        )

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module as text.

        Args:
            dialect: ``"stablehlo"``, the default, or ``"hlo"``.
            debug_info: whether to include the user's source lines.

        Raises:
            ValueError: there is no such dialect.

        Example:
            >>> import morphax as jax
            >>> print(jax.jit(lambda x: 2.0 * x).lower(1.0).as_text("hlo"))
            HloModule jit__lambda_, entry_computation_layout={(f32[])->f32[]}
            ...
        """
        text = self._lower(locations=True).text if debug_info else self._module.text
        return text if _is_stablehlo(dialect) else inspection.hlo_text(text)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module as an object of the compiler: of MLIR for StableHLO, of XLA for HLO."""
        text = self._module.text
        if _is_stablehlo(dialect):
            return inspection.mlir_module(text)
        return inspection.xla_computation(text)

    def cost_analysis(self) -> dict[str, float]:
        """What XLA estimates before optimisation: operations and bytes moved."""
        return inspection.estimated_cost(self._module.text, self._platform)

    def compile(
        self,
        compiler_options: CompilerOptions | None = None,
        *,
        device_assignment: Sequence[Any] | None = None,
    ) -> Compiled:
        """The program, compiled.

        Args:
            compiler_options: XLA flags by name, besides those given to `jit`.
            device_assignment: the device to compile for, as a sequence of one.
        """
        traced = self._traced
        params = traced._params
        device = device_assignment[0] if device_assignment is not None else traced._device
        executable = compiled(
            self._program,
            params["name"],
            self.donate_argnums,
            tuple(sorted((dict(params["compiler_options"]) | (compiler_options or {})).items())),
            keep_unused=params["keep_unused"],
            device=device,
        )
        return Compiled(traced, executable)


def _is_stablehlo(dialect: str | None) -> bool:
    if dialect in (None, "stablehlo", "hlo"):
        return dialect != "hlo"
    raise ValueError(
        message(
            "Lowered, argument dialect",
            given=f"{dialect!r}",
            expected="'stablehlo' or 'hlo'",
            fix="Leave it out for StableHLO.",
        )
    )


@final
class Compiled(Stage):
    """A function compiled for one signature; call it with arguments of that signature only.

    Args:
        traced: the function.
        executable: its program.
    """

    __slots__ = ("_argument_names", "_executable")

    def __init__(self, traced: Traced, executable: Executable) -> None:
        super().__init__(traced.in_tree, traced.out_tree, traced.jaxpr, traced.donate_argnums)
        self._executable = executable
        self._argument_names = traced.name_arguments()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function on arguments without the static ones.

        Raises:
            TypeError: structure, shapes or dtypes differ from those it was compiled for.
        """
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(self._wrong_structure(in_tree))
        for position, (x, aval) in enumerate(zip(leaves, self._flat_in_avals, strict=True)):
            if type(x) is not Array or x.aval is not aval:
                self._check(position, x, aval)
        operands = [as_array(x) for x in leaves]
        info = self._program.debug_info
        results = run(self._executable, operands, self.donate_argnums, info)
        return self.out_tree.unflatten(results)

    call = __call__

    def as_text(self) -> str:
        """The HLO text of the program, as XLA optimised it."""
        return self._executable.loaded.get_hlo_text()  # type: ignore[no-any-return]

    def cost_analysis(self) -> dict[str, float]:
        """What XLA estimates of the optimised program: operations and bytes moved."""
        return self._executable.loaded.cost_analysis()  # type: ignore[no-any-return]

    def memory_analysis(self) -> Any:
        """How many bytes arguments, results, temporaries and code take up."""
        return self._executable.loaded.get_compiled_memory_stats()

    def runtime_executable(self) -> Any:
        """The executable of jaxlib."""
        return self._executable.loaded

    def _wrong_structure(self, in_tree: Any) -> str:
        return message(
            f"compiled {self._label}, arguments",
            given=f"(args, kwargs) of the structure {in_tree}",
            expected=f"{self.in_tree}, for which it was compiled",
            fix="Pass arguments by position or by name as when it was lowered, "
            "but static arguments not at all.",
        )

    def _check(self, position: int, x: Any, aval: Any) -> None:
        """Raise `TypeError` if `x` is not the argument that the program was compiled for."""
        where = f"compiled {self._label}, argument {self._argument_names[position]}"
        if isinstance(x, Tracer):
            given = x.origin()
            expected = "a concrete array: a compiled function cannot be transformed"
            fix = "Transform the function first, then lower and compile it."
        elif not is_value(x):
            given, expected = f"{x!r:.80} of type {type(x).__name__}", f"an array {aval}"
            fix = "Convert the argument with jnp.asarray."
        else:
            given, expected = str(aval_of(x)), f"{aval}, for which it was compiled"
            fix = "Convert the argument, or lower and compile again for arguments like this one."
            if given.lstrip("~") == str(aval).lstrip("~"):
                return
        raise TypeError(message(where, given=given, expected=expected, fix=fix))

    @property
    def _label(self) -> str:
        return self._program.debug_info.function
