"""The one shape of our error text: where, what was given, what was expected, how to mend it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from .frames import user_frame


def message(where: str, *, given: str, expected: str, fix: str) -> str:
    """Four-part error text; the user's source line is found here.

    Args:
        where: function and, if one is at fault, the argument: ``"lax.add, argument y"``.
        given: what was passed: shape, dtype, value if small, both sides of a mismatch.
        expected: what the function accepts.
        fix: how to mend the call, as an imperative sentence.

    Example:
        >>> from morphax.util.messages import message
        >>> print(message("f", given="an int", expected="a str", fix="Call str() on it."))
        f (at ...)
          given:    an int
          expected: a str
          fix:      Call str() on it.
    """
    place = user_frame(depth=2)
    at = f" (at {place})" if place is not None else ""
    return f"{where}{at}\n  given:    {given}\n  expected: {expected}\n  fix:      {fix}"


def described(x: Any) -> str:
    """What was given, where something of another type is expected: the start of its text, its type.

    A traced value tells what it depends on instead, a function where it stands.

    Example:
        >>> from morphax.util.messages import described
        >>> described("three")
        "'three' of type str"
    """
    if isinstance(x, FunctionType):
        code = x.__code__
        return f"the function {x.__name__} at {code.co_filename}:{code.co_firstlineno}"
    if callable(origin := getattr(type(x), "origin", None)):
        return f"{origin(x)}, {x.aval.str_short()}"
    return f"{x!r:.80} of type {type(x).__name__}"


def conversion_of(x: Any) -> str:
    """How what is no array becomes one, as an imperative sentence.

    Example:
        >>> from morphax.util.messages import conversion_of
        >>> conversion_of([1.0, 2.0])
        'Convert lists and tuples with jnp.array.'
    """
    if isinstance(x, (list, tuple)):
        return "Convert lists and tuples with jnp.array."
    if x is None:
        return "Leave it out, or pass a number: a function without a return statement gives None."
    if isinstance(x, (str, bytes)):
        return "Convert text to numbers, for instance with float(x), or leave it out."
    if isinstance(x, dict):
        return "Apply the function to each leaf of the tree, with jax.tree.map."
    if isinstance(x, (set, frozenset, Iterator)):
        return "Make a list of it first, jnp.array(list(x))."
    if hasattr(x, "todense"):
        return "Write x.todense(), or call the function under jax.experimental.sparse.sparsify."
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return "Ask jax.eval_shape what has no numbers, or make an array of it, with jnp.zeros."
    return "Pass the arrays that it holds, or the result of calling it."


def warn_user(
    text: str, registry: dict[Any, Any] | None = None, kind: type[Warning] = UserWarning
) -> None:
    """Warn at the user's line.

    Args:
        text: what to say.
        registry: where the default filter notes that a line was told; nowhere if left out.
        kind: class of the warning.
    """
    frame = user_frame(depth=2)
    file, line = (frame.file, frame.line) if frame else (__file__, 0)
    warnings.warn_explicit(text, kind, file, line, registry={} if registry is None else registry)
