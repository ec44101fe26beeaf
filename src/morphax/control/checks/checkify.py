"""`checkify`: a function that returns the first failed check as a value, beside its result.

The function is staged, its program is given checks (`checked_programs`) and applied.  So checks see
what the function does after all transformations inside it, and transformations outside see ordinary
results.

Limits: the bodies of reductions and scatters, and the derivative rules that a later differentiation
runs, are applied as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final

from ... import tree
from ...core import DebugInfo, constants_as_arguments, frames_hidden_in, stage
from ...transforms.flattening import FlatFunction, check_callable, function_label, wraps
from ...util.messages import message
from .check_sites import (
    DivisionByZeroError,
    FailedCheckError,
    JaxException,
    NaNError,
    OOBError,
)
from .checked_programs import check_program
from .checks import Error, error_of

ErrorCategory = type[JaxException]

user_checks: Final = frozenset({FailedCheckError})
nan_checks: Final = frozenset({NaNError})
index_checks: Final = frozenset({OOBError})
div_checks: Final = frozenset({DivisionByZeroError})
float_checks: Final = nan_checks | div_checks
automatic_checks: Final = float_checks | index_checks
all_checks: Final = automatic_checks | user_checks


def checkify(
    f: Callable[..., Any], errors: frozenset[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """A function that returns ``(error, f(...))`` instead of raising, and that can be staged.

    Args:
        f: function whose arguments and results are trees.
        errors: which checks it gets, a union of `user_checks` (those of `check`), `nan_checks`,
            `index_checks`, `div_checks`, `float_checks`, `automatic_checks`, `all_checks`.

    Returns:
        A function of the arguments of `f`.  The error is that of the check that failed first.

    Raises:
        TypeError: `f` is not callable, or `errors` is no set of categories.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental import checkify
        >>> checked = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)
        >>> err, out = jax.jit(checked)(jnp.arange(3.0), 5)
        >>> err.get().split(" (at")[0]
        'out-of-bounds indexing for array of shape (3,): index 5 is out of bounds for axis 0 ...'
    """
    check_callable("checkify", f)
    categories = _categories(errors)

    @wraps(f)
    @frames_hidden_in
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        flat = FlatFunction(functools.partial(f, *args, **kwargs), _no_arguments, "checkify")
        jaxpr, consts = stage(flat, (), DebugInfo("checkify", function_label(f)))
        program = check_program(constants_as_arguments(jaxpr), categories, categories)
        state, outs = program.run(*consts)
        return error_of(state, program.sites), flat.out_tree.unflatten(outs)

    return checked


_no_arguments = tree.structure(((), {}))


def _categories(errors: Iterable[ErrorCategory]) -> frozenset[ErrorCategory]:
    valid = isinstance(errors, (frozenset, set, list, tuple)) and all(
        isinstance(e, type) and issubclass(e, JaxException) for e in errors
    )
    if valid:
        return frozenset(errors)
    raise TypeError(
        message(
            "checkify, argument errors",
            given=f"{errors!r:.80}",
            expected="a set of categories",
            fix="Write checkify.user_checks | checkify.nan_checks, for example.",
        )
    )
