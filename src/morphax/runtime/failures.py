"""Failures that XLA reports, as our own `JaxRuntimeError`.

jaxlib raises one class for all of them, whose text begins with the name of a status.  Here the text
becomes four-part: which program or array, at which line of the user, and what to try.
"""

from __future__ import annotations

from typing import NoReturn

from ..errors import JaxRuntimeError
from ..util.messages import message
from .callback_exceptions import raised_in_callback
from .client import extension

_ADVICE = {
    "RESOURCE_EXHAUSTED": "Use smaller arrays, donate arguments that are not needed afterwards, or "
    "recompute values with jax.checkpoint.",
    "UNIMPLEMENTED": "Avoid the operation named above on this platform, or update jaxlib.",
    "INVALID_ARGUMENT": "Check what is named above: a foreign function states what it takes; "
    "otherwise this is a fault of morphax or XLA: please report it with the program.",
    "NOT_FOUND": "Register foreign functions before they are called: jax.ffi.register_ffi_target.",
    "CANCELLED": "Run the program again; something else on the device stopped it.",
    "UNAVAILABLE": "Check that the device and the other processes are alive and run the same "
    "program, then start anew.",
}
# Failures to communicate have a status of any kind.
_COMMUNICATION = "Gloo "
_REPORT = "This is a fault of morphax or XLA: please report it with the program."


def reported_by_xla() -> type[RuntimeError]:
    """The class of jaxlib's errors, for ``except`` clauses, which ask for it on failure only."""
    return extension().JaxRuntimeError


def raise_failure(error: RuntimeError, where: str) -> NoReturn:
    """Raise in place of jaxlib's error; called from ``except reported_by_xla() as error``.

    What a Python callback of the program raised arrives as itself.

    Args:
        error: what jaxlib raised.
        where: what was being done, such as ``"running the program f"``.
    """
    raised = raised_in_callback(str(error))
    if raised is not None:
        raise raised from raised.__cause__ or raised.__context__
    status, separator, detail = str(error).partition(":")
    if not separator or not status.isupper():
        status, detail = "UNKNOWN", str(error)
    if _COMMUNICATION in detail:
        status = "UNAVAILABLE"
    text = message(
        f"{status}: {where}",
        given=detail.strip(),
        expected="success",
        fix=_ADVICE.get(status, _REPORT),
    )
    raise JaxRuntimeError(text) from error
