"""The settings in force: those of the process, under those of the running context.

`update` changes the process and is seen by all threads.  `override` changes the context (thread
or asyncio task) it is entered in, for the length of a block.  Overrides nest, the innermost wins,
and an update of the process leaves them in force.

A context holds a chain of scopes.  Each caches the configuration that its overrides make of the
process's, and is replaced when it finds that the latter has changed since.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from threading import Lock
from types import TracebackType
from typing import Any, Final, final

from ..util.records import dataclass
from .environment import settings_from
from .options import FACTS, Config
from .values import checked, warn_if_inert


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
    outer: _Scope | None
    overrides: dict[str, Any]
    process: Config
    config: Config


_process: Config = Config(**settings_from())
_update_lock: Final = Lock()
_scope: Final[ContextVar[_Scope | None]] = ContextVar("morphax_config", default=None)
_get_scope: Final = _scope.get


def current() -> Config:
    """The settings in force here and now.

    Example:
        >>> from morphax.config import current
        >>> current().numpy_dtype_promotion
        'standard'
    """
    scope = _get_scope()
    if scope is None:
        return _process
    if scope.process is _process:
        return scope.config
    return _renew(scope)


def _renew(scope: _Scope) -> Config:
    """Apply the overrides of `scope` to the process's settings of now."""
    renewed = _make_scope(scope.outer, scope.overrides)
    _scope.set(renewed)
    return renewed.config


def _make_scope(outer: _Scope | None, overrides: dict[str, Any]) -> _Scope:
    process = _process
    return _Scope(outer, overrides, process, process.replace(tuple(overrides.items())))


# Options that the program has set, and what is to be done when it sets one for the first time.
_set: Final[set[str]] = set()
_at_first_setting: Final[dict[str, Callable[[], None]]] = {}


def at_first_setting(attribute: str, function: Callable[[], None]) -> None:
    """Call a function when an option is set, once; at once if it was, or has not its default."""
    if attribute in _set or getattr(current(), attribute) != FACTS[attribute]["default"]:
        function()
    else:
        _at_first_setting[attribute] = function


_after_update: Final[dict[str, Callable[[], None]]] = {}


def on_update(attribute: str, function: Callable[[], None]) -> None:
    """Call a function after each update of an option; at once if it has not its default."""
    _after_update[attribute] = function
    if getattr(current(), attribute) != FACTS[attribute]["default"]:
        function()


_before_update: Final[dict[str, Callable[[Any], None]]] = {}


def check_updates(attribute: str, function: Callable[[Any], None]) -> None:
    """Call a function with each new value of an option before it is set, which it may refuse."""
    _before_update[attribute] = function


def _with_companions(attribute: str, value: Any, where: str) -> dict[str, Any]:
    value = checked(attribute, value, where)
    warn_if_inert(attribute, value, where)
    _set.add(attribute)
    if attribute in _at_first_setting:
        _at_first_setting.pop(attribute)()
    return dict.fromkeys((attribute, *FACTS[attribute]["also_sets"]), value)


def update(attribute: str, value: Any, where: str = "config.update") -> None:
    """Set an option, by its field name, for the whole process."""
    global _process
    settings = _with_companions(attribute, value, where)
    if attribute in _before_update:
        _before_update[attribute](settings[attribute])
    with _update_lock:
        _process = _process.replace(tuple(settings.items()))
    if attribute in _after_update:
        _after_update[attribute]()


@final
class override(ContextDecorator):
    """Run a block, or each call of a decorated function, under other settings.

    Args:
        **settings: values by field name of `Config`.

    An instance holds no state of the blocks that run in it: it may be entered again, also by
    several threads at a time.

    Example:
        >>> from morphax.config import current, override
        >>> with override(enable_x64=True):
        ...     current().enable_x64
        True
    """

    def __init__(self, **settings: Any) -> None:
        self._settings: dict[str, Any] = {}
        for attribute, value in settings.items():
            self._settings.update(_with_companions(attribute, value, f"jax.{attribute}"))

    @classmethod
    def of_settings(cls, settings: dict[str, Any]) -> override:
        """Of fields of `Config` as they are, which need not be options."""
        made = cls()
        made._settings = settings
        return made

    def __enter__(self) -> None:
        outer = _get_scope()
        inherited = outer.overrides if outer is not None else {}
        _scope.set(_make_scope(outer, {**inherited, **self._settings}))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        scope = _get_scope()
        assert scope is not None, "a block of settings is left in the context it was entered in"
        _scope.set(scope.outer)
