"""The middle stage of a jitted function: a StableHLO module, for arguments of one signature."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, final

from ...engines.build_events import LOWERING, reported
from ...engines.engine import CPU_ENGINE_OPTION
from ...engines.xla import inspection
from ...engines.xla.lowering import LoweredProgram, lower
from ...runtime.places import Places
from ...runtime.sharding import whole_on
from ...tree import PyTreeDef
from .compiled import Compiled, CompiledProgram
from .stage_info import Stage, is_stablehlo, of_args_info

if TYPE_CHECKING:
    from .stages import Traced

CompilerOptions = dict[str, str | bool | int | float]


@final
class Lowering(NamedTuple):
    """A function, and the platform that it is lowered for."""

    traced: Traced
    platform: str


@final
class Lowered(Stage):
    """A function lowered to a StableHLO module.

    Args:
        lowering: the function, and what it is lowered for.
        args_info: ``(args, kwargs)`` with `ArgInfo` leaves.
        out_tree: the structure of the result.
        no_kwargs: whether the compiled function takes arguments by position only.
        in_types, out_types: avals of arguments and results, if they are not those of `args_info`
            and of the function.

    Example:
        >>> import morphax as jax
        >>> lowered = jax.jit(lambda x: 2 * x).lower(1.0)
        >>> "stablehlo.multiply" in lowered.as_text()
        True
    """

    __slots__ = ("_lowering", "_module", "_no_kwargs")

    def __init__(
        self,
        lowering: Lowering,
        args_info: Any,
        out_tree: PyTreeDef,
        no_kwargs: bool = False,
        in_types: Sequence[Any] | None = None,
        out_types: Sequence[Any] | None = None,
    ) -> None:
        in_tree, in_avals, donated = of_args_info(args_info)
        in_avals = in_avals if in_types is None else tuple(in_types)
        out_avals = lowering.traced._flat_out_avals if out_types is None else out_types
        super().__init__(in_tree, out_tree, in_avals, out_avals, donated)
        self._lowering = lowering
        self._no_kwargs = no_kwargs
        self._module = self._lower(locations=False)

    def _lower(self, *, locations: bool) -> LoweredProgram:
        traced = self._lowering.traced
        params = traced._params
        with reported(LOWERING, f"jit({params['name']})"):
            return lower(
                traced._program,
                params["name"],
                self.donate_argnums,
                self._lowering.platform,
                places=places if type(places := traced.in_order(traced._place)) is Places else None,
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
        if is_stablehlo(dialect):
            return text
        return inspection.hlo_text(text, locations=debug_info)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module as an object of the compiler: of MLIR for StableHLO, of XLA for HLO."""
        text = self._module.text
        if is_stablehlo(dialect):
            return inspection.mlir_module(text)
        return inspection.xla_computation(text)

    def cost_analysis(self) -> dict[str, float]:
        """What XLA estimates before optimisation: operations and bytes moved."""
        return inspection.estimated_cost(self._module.text, self._lowering.platform)

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
        traced = self._lowering.traced
        place = traced._place if device_assignment is None else whole_on(device_assignment[0])
        plan = traced.compiled(place, compiler_options)
        with_xla = (compiler_options or {}) | {CPU_ENGINE_OPTION: "xla"}
        program = CompiledProgram(
            traced.jaxpr.debug_info.function,
            plan,
            traced.name_arguments(),
            traced.bind,
            None if plan.engine_name == "xla" else partial(traced.compiled, place, with_xla),
        )
        return Compiled(
            program,
            [],
            self.args_info,
            self.out_tree,
            self._no_kwargs,
            self._flat_in_avals,
            self._flat_out_avals,
        )
