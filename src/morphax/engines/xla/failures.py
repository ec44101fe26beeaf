"""Failures that XLA reports, as our own `JaxRuntimeError`.

jaxlib raises one class for all of them, whose text begins with the name of a status.  Here the text
becomes four-part: which program or array, at which line of the user, and what to try.
"""

from __future__ import annotations

from ...errors import JaxRuntimeError
from ...util.messages import message
from . import callbacks
from .client import extension

_ADVICE = {
    "RESOURCE_EXHAUSTED": "Use smaller arrays, donate arguments that are not needed afterwards, or "
    "recompute values with jax.checkpoint.",
    "UNIMPLEMENTED": "Avoid the operation named above on this platform, or update jaxlib.",
    "INVALID_ARGUMENT": "Check the arguments named above; if they are right, this is a fault of "
    "morphax or XLA: please report it with the program.",
    "CANCELLED": "Run the program again; something else on the device stopped it.",
    "UNAVAILABLE": "Check that the device and the other processes are alive, then start anew.",
}
_FROM_CALLBACK = "Callback error"  # in jaxlib's text if a Python function raised
_MEND_CALLBACK = "Mend the Python function that the program calls; its error is shown above."
_REPORT = "This is a fault of morphax or XLA: please report it with the program."


def reported_by_xla() -> type[RuntimeError]:
    """The class of jaxlib's errors, for ``except`` clauses, which ask for it on failure only."""
    return extension().JaxRuntimeError  # type: ignore[no-any-return]


def failure(error: RuntimeError, where: str) -> JaxRuntimeError:
    """The error to raise in place of jaxlib's, from ``except reported_by_xla() as error``.

    Args:
        error: what jaxlib raised.
        where: what was being done, such as ``"running the program f"``.
    """
    status, separator, detail = str(error).partition(":")
    if not separator or not status.isupper():
        status, detail = "UNKNOWN", str(error)
    advice = _MEND_CALLBACK if _FROM_CALLBACK in detail else _ADVICE.get(status, _REPORT)
    return JaxRuntimeError(
        message(f"{status}: {where}", given=detail.strip(), expected="success", fix=advice)
    )


def origin(error: RuntimeError) -> BaseException:
    """The cause of a failure: what a Python callback raised, or else jaxlib's error itself."""
    if _FROM_CALLBACK not in str(error) or not callbacks.raised:
        return error
    cause = callbacks.raised[-1]
    callbacks.raised.clear()
    return cause
