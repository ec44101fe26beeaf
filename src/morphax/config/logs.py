"""The loggers of this package, as the options `logging_level` and `debug_log_modules` want them.

While neither is set nothing is touched: loggers belong to the program.  What they lower they put
back when they are set anew, and messages go to standard error where the program has said nothing
else of them.
"""

from __future__ import annotations

import logging
from typing import Final

from .state import current, on_update

_PACKAGE: Final = __name__.partition(".")[0]
_FORMAT: Final = "%(levelname)s:%(asctime)s:%(name)s:%(lineno)d: %(message)s"
_levels_before: Final[dict[str, int]] = {}
_handlers: Final[dict[str, logging.Handler]] = {}


def _apply() -> None:
    """Have all loggers say as much as the process's settings want, and no more."""
    _put_back()
    settings = current()
    if settings.logging_level != "NOTSET":
        _set_level(_PACKAGE, settings.logging_level)
    for module in filter(None, map(str.strip, settings.debug_log_modules.split(","))):
        _set_level(_here(module), "DEBUG")


def _here(module: str) -> str:
    """The module's name in this package, where it is given by that of JAX."""
    first, dot, rest = module.partition(".")
    return f"{_PACKAGE}{dot}{rest}" if first == "jax" else module


def _set_level(name: str, level: str) -> None:
    logger = logging.getLogger(name)
    _levels_before.setdefault(name, logger.level)
    logger.setLevel(level)
    if not logger.hasHandlers():
        _handlers[name] = handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_FORMAT))
        logger.addHandler(handler)


def _put_back() -> None:
    for name, level in _levels_before.items():
        logging.getLogger(name).setLevel(level)
    for name, handler in _handlers.items():
        logging.getLogger(name).removeHandler(handler)
    _levels_before.clear()
    _handlers.clear()


for _option in ("logging_level", "debug_log_modules"):
    on_update(_option, _apply)
