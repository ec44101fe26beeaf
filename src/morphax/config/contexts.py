"""The context managers of the package's face: ``jax.enable_x64(True)`` and its like."""

from __future__ import annotations

from typing import Any, Final, NoReturn, final

from ..util.messages import message
from .options import FACTS
from .state import current, override


@final
class _NoValue:
    """Tells a missing argument from ``None``."""

    def __repr__(self) -> str:
        return "..."


_NO_VALUE: Final = _NoValue()


@final
class OptionContext:
    """Sets one option for a block: ``with jax.enable_x64(True): ...``.

    Args:
        attribute: the field of `Config`.

    Called without an argument, a boolean option is switched on.  ``jax.enable_x64.value`` is the
    value in force.

    Example:
        >>> import morphax as jax
        >>> with jax.numpy_rank_promotion("raise"):
        ...     jax.numpy_rank_promotion.value
        'raise'
    """

    def __init__(self, attribute: str) -> None:
        self._attribute: Final = attribute
        self.__name__: Final = attribute
        self.__doc__ = f"Set ``{self.name}`` for a block. {FACTS[attribute]['meaning']}"

    @property
    def name(self) -> str:
        """The option's name in ``jax.config``."""
        return "jax_" + self._attribute

    @property
    def value(self) -> Any:
        """The value in force here and now."""
        return getattr(current(), self._attribute)

    def __call__(self, new_val: Any = _NO_VALUE) -> override:
        """A context manager, and decorator, that sets the option to `new_val`."""
        if new_val is not _NO_VALUE:
            return override(**{self._attribute: new_val})
        if FACTS[self._attribute]["annotation"] != "bool":
            raise TypeError(message(
                f"jax.{self._attribute}, argument new_val",
                given="no argument",
                expected="the value that the block shall run under",
                fix=f"Write `with jax.{self._attribute}({self.value!r}):`, or another value.",
            ))  # fmt: skip
        return override(**{self._attribute: True})

    def __bool__(self) -> NoReturn:
        raise TypeError(message(
            f"jax.{self._attribute}",
            given="the context manager itself, where a truth value is needed",
            expected="the value of the option",
            fix=f"Read jax.{self._attribute}.value or jax.config.{self.name}.",
        ))  # fmt: skip

    def __repr__(self) -> str:
        return f"<context manager of {self.name}, now {self.value!r}>"


array_garbage_collection_guard = OptionContext("array_garbage_collection_guard")
auto_pcast = OptionContext("auto_pcast")
check_tracer_leaks = OptionContext("check_tracer_leaks")
cpu_engine = OptionContext("cpu_engine")
debug_infs = OptionContext("debug_infs")
debug_key_reuse = OptionContext("debug_key_reuse")
debug_nans = OptionContext("debug_nans")
default_device = OptionContext("default_device")
default_matmul_precision = OptionContext("default_matmul_precision")
default_prng_impl = OptionContext("default_prng_impl")
enable_checks = OptionContext("enable_checks")
enable_custom_prng = OptionContext("enable_custom_prng")
enable_x64 = OptionContext("enable_x64")
explain_cache_misses = OptionContext("explain_cache_misses")
legacy_prng_key = OptionContext("legacy_prng_key")
log_compiles = OptionContext("log_compiles")
no_execution = OptionContext("no_execution")
no_tracing = OptionContext("no_tracing")
numpy_dtype_promotion = OptionContext("numpy_dtype_promotion")
numpy_rank_promotion = OptionContext("numpy_rank_promotion")
remove_size_one_mesh_axis_from_type = OptionContext("remove_size_one_mesh_axis_from_type")
softmax_custom_jvp = OptionContext("softmax_custom_jvp")
thread_guard = OptionContext("thread_guard")
threefry_partitionable = OptionContext("threefry_partitionable")
transfer_guard_device_to_device = OptionContext("transfer_guard_device_to_device")
transfer_guard_device_to_host = OptionContext("transfer_guard_device_to_host")
transfer_guard_host_to_device = OptionContext("transfer_guard_host_to_device")


def transfer_guard(new_val: str) -> override:
    """A context manager that guards transfers in all three directions.

    Args:
        new_val: "allow", "log", "disallow", "log_explicit" or "disallow_explicit".
    """
    return override(transfer_guard=new_val)


def disable_jit(disable: bool = True) -> override:
    """A context manager under which jitted functions run operation by operation.

    Args:
        disable: whether; False switches compilation on again inside an outer block.

    Example:
        >>> import morphax as jax
        >>> with jax.disable_jit():
        ...     jax.config.jax_disable_jit
        True
    """
    return override(disable_jit=disable)


def checking_leaks() -> override:
    """A context manager that raises an error when a tracer outlives its trace."""
    return override(check_tracer_leaks=True)
