"""Transfer guards: notice, or forbid, that numbers move between host and devices unasked.

A transfer is *explicit* if the program asks for it (`device_put`, `device_get`), *implicit* if it
happens on the way: a NumPy array or a Python number as the argument of a `jit`, a NumPy array as an
operand, an array of one device in a program of another, ``np.asarray`` of an array on an
accelerator.  The guard of each direction says which kinds are logged or refused.

On the CPU host and device share memory, so reading an array there is no transfer.  Python numbers
in eager operations are part of the operation, not transferred.
"""

from __future__ import annotations

import logging
from typing import Any, Final, Literal

from ..config import current as current_config
from ..errors import JaxRuntimeError
from ..util.messages import message

_logger: Final = logging.getLogger(__name__)

Direction = Literal["host_to_device", "device_to_device", "device_to_host"]

_LOGGED: Final = {False: ("log", "log_explicit"), True: ("log_explicit",)}
_REFUSED: Final = {False: ("disallow", "disallow_explicit"), True: ("disallow_explicit",)}
_FIX: Final = {
    "host_to_device": "Move the value with jax.device_put before",
    "device_to_device": "Move the array with jax.device_put before",
    "device_to_host": "Read the array with jax.device_get",
}


def guard_transfer(direction: Direction, x: Any, to: Any = None, *, explicit: bool = False) -> None:
    """Log or refuse the transfer of `x` to a place, if the guard of its direction says so.

    Raises:
        JaxRuntimeError: the transfer is disallowed.
    """
    setting = getattr(current_config(), f"transfer_guard_{direction}")
    if setting is None or setting == "allow":
        return
    to = getattr(to, "brief", to)
    kind = "explicit" if explicit else "implicit"
    where = f"{kind} {direction.replace('_', '-')} transfer"
    if setting in _LOGGED[explicit]:
        _logger.warning("%s of %s%s", where, _described(x), f" to {to!r}" if to else "")
    if setting in _REFUSED[explicit]:
        text = message(
            where,
            given=f"{_described(x)}{f', moving to {to!r}' if to else ''}",
            expected=f"no such transfer, because jax_transfer_guard_{direction} is {setting!r}",
            fix=f"{_FIX[direction]}, or allow transfers with jax.transfer_guard('allow').",
        )
        raise JaxRuntimeError(f"INVALID_ARGUMENT: {text}")


def _described(x: Any) -> str:
    if hasattr(x, "aval"):
        return f"an array {x.aval.str_short()}"
    if hasattr(x, "dtype"):
        return f"a NumPy array {x.dtype}{list(x.shape)}"
    return f"the Python number {x!r:.40}"
