"""Python functions as generalised universal functions.

A *core* axis is one that the function itself sees; all others are mapped, and broadcast against
those of the other arguments.

Reference: NumPy Enhancement Proposals 5 and 20 (generalised ufuncs and their signatures).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any

from .. import lax, tree
from ..core import aval_of
from ..transforms.vmap import vmap
from ..util.memo import memoize
from ..util.messages import message
from .creation import asarray

Core = tuple[str, ...]
"""Names of the core axes of one argument or result; a number fixes the size."""

_ARGUMENT = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
_ARGUMENTS = rf"{_ARGUMENT}(?:\s*,\s*{_ARGUMENT})*"


@memoize
def _parsed(signature: str) -> tuple[tuple[Core, ...], tuple[Core, ...]]:
    """The core axes of arguments and of results."""
    text = signature.strip()
    if not re.fullmatch(rf"(?:{_ARGUMENTS})?\s*->\s*{_ARGUMENTS}", text):
        raise ValueError(
            message(
                "jnp.vectorize, argument signature",
                given=f"{signature!r}",
                expected="axes in parentheses: arguments, an arrow, results",
                fix="Write for instance '(n,m),(m)->(n)'.",
            )
        )
    sides = []
    for side in text.split("->"):
        groups = re.findall(r"\(([^)]*)\)", side)
        sides.append(tuple([tuple(re.findall(r"\w+", group)) for group in groups]))
    return sides[0], sides[1]


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """`pyfunc` mapped over all axes of its arguments but core axes, with broadcasting.

    Args:
        pyfunc: function of arrays.
        excluded: positions and names of arguments that are passed on as they are; those that are
            `None` always are.
        signature: core axes of arguments that are not excluded, and of results, as in
            ``"(n,m),(m)->(n)"``; without it arguments and results are scalars.

    Example:
        >>> import morphax.numpy as jnp
        >>> dot = jnp.vectorize(jnp.vdot, signature="(n),(n)->()")
        >>> dot(jnp.ones((2, 3)), jnp.arange(3.0))
        Array([3., 3.], dtype=float32)
    """
    fixed = _checked_exclusions(excluded)
    cores = None if signature is None else _parsed(_checked_signature(signature))

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        names = [n for n in kwargs if n not in fixed]
        if names:
            raise TypeError(
                message(
                    "jnp.vectorize, call",
                    given=f"keyword arguments {names}",
                    expected="positional arguments, or names that are excluded",
                    fix="Pass them by position, or list them in excluded.",
                )
            )
        described = [i for i in range(len(args)) if i not in fixed]
        mapped = [i for i in described if args[i] is not None]

        def function(*arrays: Any) -> Any:
            given = list(args)
            for i, array in zip(mapped, arrays, strict=True):
                given[i] = array
            return pyfunc(*given, **kwargs)

        inputs = _input_cores(cores, [args[i] is not None for i in described])
        return _mapped(function, [asarray(args[i]) for i in mapped], inputs, cores and cores[1])

    return vectorized


def _checked_signature(signature: Any) -> str:
    if isinstance(signature, str):
        return signature
    raise TypeError(
        message(
            "jnp.vectorize, argument signature",
            given=f"{signature!r} of type {type(signature).__name__}",
            expected="a string, or None",
            fix="Write for instance '(n,m),(m)->(n)'.",
        )
    )


def _checked_exclusions(excluded: Any) -> frozenset[int | str]:
    """The positions and names in `excluded`."""
    collection = isinstance(excluded, Collection) and not isinstance(excluded, str)
    of_kinds = collection and all(isinstance(e, (int, str)) for e in excluded)
    if of_kinds and all(e >= 0 for e in excluded if isinstance(e, int)):
        return frozenset(excluded)
    raise (ValueError if of_kinds else TypeError)(
        message(
            "jnp.vectorize, argument excluded",
            given=f"{excluded!r}",
            expected="a collection of positions, not negative, and names of arguments",
            fix="Give for instance excluded={0, 'scale'}.",
        )
    )


def _input_cores(cores: Any, present: Sequence[bool]) -> Sequence[Core]:
    """The core axes of the arguments that are mapped; the signature describes `None` too."""
    if cores is None:
        return [()] * sum(present)
    if len(cores[0]) != len(present):
        expected = f"{len(cores[0])}, as in the signature"
        raise TypeError(_error(f"{len(present)} arguments", expected))
    return [core for core, on in zip(cores[0], present, strict=True) if on]


def _mapped(
    function: Callable[..., Any], arrays: Sequence[Any], inputs: Sequence[Core], outputs: Any
) -> Any:
    sizes: dict[str, int] = {}
    for array, core in zip(arrays, inputs, strict=True):
        _bind_sizes(array.aval.shape, core, sizes, "argument")
    outer = [a.aval.shape[: a.aval.ndim - len(c)] for a, c in zip(arrays, inputs, strict=True)]
    shape = lax.broadcast_shapes(*outer) if outer else ()

    def checked(*values: Any) -> Any:
        results = function(*values)
        if outputs is not None:
            _check_results(results, outputs, dict(sizes))
        return results

    # Axes of size 1 are not mapped: they are dropped from arguments, and put into results again.
    kept = [tuple([1] * (len(shape) - len(s))) + tuple(s) for s in outer]
    operands = []
    for array, own, padded in zip(arrays, outer, kept, strict=True):
        missing = len(padded) - len(own)
        ones = tuple([i - missing for i, n in enumerate(padded) if i >= missing and n == 1])
        operands.append(lax.squeeze(array, ones) if ones else array)
    unmapped = [i for i in range(len(shape)) if all(s[i] == 1 for s in kept)]
    for i in reversed([i for i in range(len(shape)) if i not in unmapped]):
        in_axes = tuple([None if s[i] == 1 else 0 for s in kept])
        checked = vmap(checked, in_axes=in_axes)
    results = checked(*operands)
    if not unmapped:
        return results
    return tree.map(lambda r: lax.expand_dims(asarray(r), tuple(unmapped)), results)


def _bind_sizes(shape: tuple[int, ...], core: Core, sizes: dict[str, int], what: str) -> None:
    """Check the sizes of core axes, which come last, against those known, and learn new ones."""
    if len(shape) < len(core):
        raise ValueError(_error(f"{what} of shape {shape}", f"core axes {core} at its end"))
    for name, n in zip(core, shape[len(shape) - len(core) :], strict=True):
        known = int(name) if name.isdigit() else sizes.setdefault(name, n)
        if n != known:
            raise ValueError(_error(f"{what} with size {n} of core axis {name!r}", f"size {known}"))


def _check_results(results: Any, cores: tuple[Core, ...], sizes: dict[str, int]) -> None:
    several = isinstance(results, (tuple, list))
    if len(results if several else (results,)) != len(cores):
        given = f"{len(results)} results" if several else "one result"
        raise TypeError(_error(given, f"{len(cores)}, as in the signature"))
    for result, core in zip(results if several else (results,), cores, strict=True):
        shape = aval_of(result).shape
        if len(shape) != len(core):
            raise ValueError(_error(f"a result of shape {shape}", f"core axes {core}"))
        _bind_sizes(shape, core, sizes, "result")


def _error(given: str, expected: str) -> str:
    fix = "Change the arguments, the function or its signature."
    return message("jnp.vectorize, call", given=given, expected=expected, fix=fix)
