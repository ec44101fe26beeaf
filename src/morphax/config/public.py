"""The object ``jax.config``: options by their public names."""

from __future__ import annotations

import sys
from itertools import takewhile
from typing import Any, Final, NoReturn, Protocol, final

from ..util.messages import message
from . import state
from .options import FACTS
from .state import current
from .values import attribute_of, describe


class Holder(Protocol):
    """Where the value of an option of other people's is kept."""

    value: Any

    def _set(self, value: Any) -> None: ...


# Options of other people's, by their full names: their holders and their types.
_added: Final[dict[str, tuple[Holder, Any]]] = {}


@final
class Options:
    """Reads and sets the package's options.

    Reading an attribute gives the value in force in this context; `update` sets it for the
    whole process.

    Example:
        >>> import morphax as jax
        >>> jax.config.update("jax_numpy_rank_promotion", "warn")
        >>> jax.config.jax_numpy_rank_promotion
        'warn'
        >>> jax.config.update("jax_numpy_rank_promotion", "allow")
    """

    __slots__ = ()

    # The package `morphax.config` and this object go by one name; both answer `current()`.
    current = staticmethod(current)

    def update(self, name: str, val: Any) -> None:
        """Set an option for the whole process.

        Args:
            name: the option, ``"jax_enable_x64"`` for instance.
            val: its new value; None restores the default where it is not a value itself.

        Raises:
            AttributeError: if there is no such option.
            TypeError: if `val` is of the wrong kind.
            ValueError: if `val` is not among the choices.
        """
        if name in _added:
            _added[name][0]._set(val)
            return
        where = "jax.config.update"
        state.update(attribute_of(name, f"{where}, argument name"), val, f"{where}, argument val")

    def read(self, name: str) -> Any:
        """The value in force of the option `name`.

        Raises:
            AttributeError: if there is no such option.
        """
        if name in _added:
            return _added[name][0].value
        return getattr(current(), attribute_of(name, "jax.config.read, argument name"))

    def add_option(
        self, name: str, holder: Holder, opt_type: Any, meta_args: Any, meta_kwargs: Any
    ) -> None:
        """Declare an option of one's own, which `update`, `read` and `values` know from then on.

        Args:
            name: the option.
            holder: an object whose attribute `value` is the value in force, and whose method
                ``_set`` changes it.
            opt_type: the type of its values, ``"enum"`` for one of some strings.
            meta_args, meta_kwargs: accepted for compatibility; they describe a flag of a command
                line.

        Raises:
            ValueError: if there is such an option already.
        """
        if name in self.values:
            raise ValueError(message(
                "jax.config.add_option, argument name",
                given=f"{name!r}, an option that exists",
                expected="the name of a new option",
                fix="Begin the names of your options with the name of your package.",
            ))  # fmt: skip
        _added[name] = holder, opt_type

    @property
    def values(self) -> dict[str, Any]:
        """All values in force, by name."""
        ours = {"jax_" + attribute: value for attribute, value in current().settings().items()}
        return ours | {name: holder.value for name, (holder, _) in _added.items()}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit types are allowed."""
        return current().enable_x64

    def __getattr__(self, name: str) -> Any:
        return getattr(current(), attribute_of(name, "jax.config"))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(message(
            "jax.config",
            given=f"an assignment to {name}",
            expected="a call of jax.config.update",
            fix=f"Write jax.config.update({name!r}, {value!r}).",
        ))  # fmt: skip

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *("jax_" + attribute for attribute in FACTS)]

    def __repr__(self) -> str:
        changed = (
            f"{name}={value!r}"
            for name, value in self.values.items()
            if name not in _added and value != FACTS[name.removeprefix("jax_")]["default"]
        )
        return f"jax.config({', '.join(changed)})"

    def config_with_absl(self) -> None:
        """Declare one absl flag per option; they take effect when absl's ``app.run`` starts."""
        from absl import app, flags  # type: ignore[import-not-found, unused-ignore]

        declare = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer,
                   float: flags.DEFINE_float}  # fmt: skip
        for name, value in self.values.items():
            # Each test of a suite asks for it, and all may run in one process.
            if name in _added or name in flags.FLAGS:
                continue
            option = describe(name.removeprefix("jax_"))
            if option.choices:
                flags.DEFINE_enum(name, value, list(option.choices), option.meaning)
            else:
                declare.get(option.kind, flags.DEFINE_string)(name, value, option.meaning)
        app.call_after_init(lambda: self.complete_absl_config(flags))

    def complete_absl_config(self, absl_flags: Any) -> None:
        """Set the options whose absl flags were given on the command line.

        Args:
            absl_flags: the module ``absl.flags``, after parsing.
        """
        for name in self.values.keys() - _added.keys():
            flag = absl_flags.FLAGS[name]
            if flag.present:
                self.update(name, flag.value)

    def parse_flags_with_absl(self) -> None:
        """Take options from the command line with absl: ``python program.py --jax_enable_x64``."""
        from absl import flags

        self.config_with_absl()
        flags.FLAGS(list(takewhile(lambda word: word != "--", sys.argv)), known_only=True)
        self.complete_absl_config(flags)


config: Final = Options()
