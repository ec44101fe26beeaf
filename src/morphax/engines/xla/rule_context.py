"""What lowering rules that emit MLIR are given: the equation, and the module it becomes part of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, final

from ...core import Primitive
from ...runtime.client import client
from ...util.records import dataclass
from .mlir_parameters import (
    AxisContext,
    LoweringParameters,
    ShapePolyLoweringState,
    ShardingContext,
)
from .mlir_tokens import TokenSet
from .module import PLATFORM_INDEX, Module

_ONE_DEVICE, _NO_OPTIONS = ShardingContext(1), LoweringParameters()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleContext:
    """The module that a rule emits into.

    Args:
        module: the MLIR module.
        text: the module that it will be part of.
        context, ip, symbol_table: of `module`; its symbols.
        platforms: what the program is compiled for.
        axis_context: the devices it is compiled for, or the mesh whose members run the operation.
        lowering_parameters: options.
    """

    module: Any
    text: Module
    context: Any
    ip: Any
    symbol_table: Any
    platforms: tuple[str, ...]
    axis_context: AxisContext = _ONE_DEVICE
    lowering_parameters: LoweringParameters = _NO_OPTIONS

    @property
    def backend(self) -> Any:
        """The client of the platform."""
        return client(self.platforms[0])

    def get_backend(self) -> Any:
        """`backend` as a function."""
        return self.backend

    @property
    def shape_poly_state(self) -> ShapePolyLoweringState:
        """The symbols of sizes in the program, and its platforms."""
        sizes = tuple([name for name in self.text.symbols if name != PLATFORM_INDEX])
        return ShapePolyLoweringState(sizes, self.text.platforms)

    @property
    def host_callbacks(self) -> list[Any]:
        """Python functions that the program calls, by index."""
        return self.text.callbacks

    def add_host_callback(self, host_callback: Any) -> None:
        """Let the program call `host_callback`, by its index in `host_callbacks`."""
        self.text.callbacks.append(host_callback)

    @property
    def channel_iterator(self) -> Iterator[int]:
        """Numbers of channels that the program does not use yet."""
        return self.text.channels

    def new_channel(self) -> int:
        """The number of a new channel."""
        return next(self.channel_iterator)

    def replace(self, **kw: Any) -> ModuleContext:
        """The same with other fields."""
        return replace(self, **kw)


@final
@dataclass(slots=True)
class LoweringRuleContext:
    """What a rule knows of the equation it lowers.

    Args:
        module_context: the module that it emits into.
        name_stack, traceback: scopes and line of the user's program.
        primitive: the primitive.
        avals_in, avals_out: of operands and results.
        tokens_in: a `TokenSet` of the ordered effects.
        tokens_out: those that come after the operation, set by `set_tokens_out`.
        const_lowering: values of constants by identity.
        axis_size_env, dim_var_values: sizes that are values of the program.
        jaxpr_eqn_ctx: the configuration of the equation.
        platforms: what the program is compiled for, if not what the module is.
    """

    module_context: ModuleContext
    name_stack: Any
    traceback: Any
    primitive: Primitive | None
    avals_in: Sequence[Any]
    avals_out: Any
    tokens_in: Any
    tokens_out: Any
    const_lowering: dict[Any, Any]
    axis_size_env: dict[Any, Any] | None = None
    dim_var_values: Sequence[Any] = ()
    jaxpr_eqn_ctx: Any = None
    platforms: Sequence[str] | None = None

    def set_tokens_out(self, tokens_out: TokenSet) -> None:
        """Say which tokens come after the operation, once."""
        assert self.tokens_out is None, "a rule sets the tokens once"
        self.tokens_out = tokens_out

    def replace(self, **kw: Any) -> LoweringRuleContext:
        """The same with other fields."""
        return replace(self, **kw)

    def is_forward_compat(self) -> bool:
        """Whether the program must be understood by older compilers: no, it is compiled here."""
        return False
