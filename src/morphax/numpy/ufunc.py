"""Universal functions: functions of scalars, applied element by element, that also reduce.

A `ufunc` is called like a function.  Its methods apply a function of two operands in other
patterns: along an axis (`reduce`, `accumulate`), to segments of it (`reduceat`), to all pairs of
elements (`outer`), at chosen places (`at`).  What is made of a Python function goes through the
elements one by one, from left to right; `ufuncs` has those of `jnp`, which know better ways.

Reference: the documentation of `numpy.ufunc`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import update_wrapper, wraps
from inspect import Parameter, Signature
from operator import index
from typing import Any, final

from ..lax.ground.axes import check_callable
from ..util.messages import message
from .folds import Fold
from .operands import as_array, check_no_out, refuse_out_and_where
from .vectorize import vectorize

_SIGNATURE = Signature(
    [
        Parameter("args", Parameter.VAR_POSITIONAL),
        Parameter("out", Parameter.KEYWORD_ONLY, default=None),
        Parameter("where", Parameter.KEYWORD_ONLY, default=None),
    ]
)


@final
class ufunc:
    """A function applied element by element, with the methods of NumPy's universal functions.

    Args:
        func: of `nin` scalars; returns `nout` of them.
        nin, nout: how many operands, and results, it has.
        name: shown in text; by default that of `func`.
        nargs: how many positional arguments there are; by default `nin`.
        identity: e with e ∘ x = x, the result of `reduce` for no elements; `None` if there is none.
        call: what a call runs instead of mapping `func` over the elements.
        reduce, accumulate, at, reduceat, outer: what the methods of these names run instead of
            going from element to element; they take their arguments but `out` and `inplace`.

    Operands are arrays or scalars that broadcast together; lists are refused.  There is no
    `where` of a call, and no `out`: arrays are immutable.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.add, jnp.add.nin, jnp.add.identity
        (<jnp.ufunc 'add'>, 2, 0)
        >>> jnp.add.outer(jnp.arange(2), jnp.array([10, 20]))
        Array([[10, 20],
               [11, 21]], dtype=int32)
        >>> jnp.maximum.accumulate(jnp.array([1, 3, 2]))
        Array([1, 3, 3], dtype=int32)
    """

    # The type looks calls up here, so that they run the function in the slot with no frame between.
    __slots__ = ("__call__", "__dict__", "__weakref__", "_fold", "_func", "_options")

    __call__: Callable[..., Any]
    __module__: str
    __name__: str
    __signature__: Signature

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
        outer: Callable[..., Any] | None = None,
    ) -> None:
        check_callable("jnp.ufunc, argument func", func)
        nin = index(nin)
        update_wrapper(self, func)
        self.__name__ = name or str(getattr(func, "__name__", type(func).__name__))
        self.__signature__ = _SIGNATURE
        self._func = func
        self._options = {
            "name": self.__name__,
            "nargs": nin if nargs is None else max(nin, index(nargs)),
            "identity": identity,
            "call": call,
            "reduce": reduce,
            "accumulate": accumulate,
            "at": at,
            "reduceat": reduceat,
            "outer": outer,
        }
        function = _on_arrays(self.__name__, func) if call is None else call
        self.__call__ = _refusing(self.__name__, function)
        self._fold = Fold(self.__name__, function, nin, index(nout), identity)

    def __repr__(self) -> str:
        return f"<jnp.ufunc {self.__name__!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ufunc) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((self._func, self.nin, self.nout, self.__name__))

    def _facts(self) -> Any:
        return self._func, self.nin, self.nout, self._options

    def __identity_state__(self) -> Mapping[str, Any]:
        """What tells ufuncs apart (see `transforms.function_identity`).

        Those of `jnp` are told by their functions; their methods hold tables of programs.
        """
        if self.__module__.startswith(f"{__package__}.") and self._is_found():
            return {"found": self._func}
        return {"func": self._func, "nin": self.nin, "nout": self.nout, **self._options}

    def __reduce__(self) -> Any:
        return self.__name__ if self._is_found() else (_restored, self._facts())

    def _is_found(self) -> bool:
        """Whether it is what its module has under its name."""
        return getattr(sys.modules.get(self.__module__), self.__name__, None) is self

    @property
    def nin(self) -> int:
        """How many operands it has."""
        return self._fold.nin

    @property
    def nout(self) -> int:
        """How many results it has."""
        return self._fold.nout

    @property
    def nargs(self) -> int:
        """How many positional arguments a call may have."""
        return self._options["nargs"]

    @property
    def identity(self) -> Any:
        """e with e ∘ x = x, or `None`."""
        return self._fold.identity

    def reduce(
        self,
        a: Any,
        axis: int | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """((a₀ ∘ a₁) ∘ a₂) ∘ … along an axis.

        Args:
            a: array (..., n, ...).
            axis: to go along; `None` takes all elements in order.
            dtype: to which `a` is converted first.
            out: must be `None`.
            keepdims: keep the axis, with size 1.
            initial: value to begin with; by default the identity, or else the first element.
            where: booleans that broadcast to `a`, which elements take part.

        Returns:
            Array (..., ...) of the dtype of ∘.

        Raises:
            ValueError: the function has not two operands and one result; there are no elements, or
                `where` is given, and there is neither `initial` nor an identity.

        Example:
            >>> import morphax.numpy as jnp
            >>> jnp.bitwise_or.reduce(jnp.array([[1, 2], [4, 4]]), axis=1)
            Array([3, 4], dtype=int32)
        """
        a = self._operand("reduce", a)
        check_no_out(f"{self.__name__}.reduce", out)
        run = self._options["reduce"] or self._fold.reduce
        return run(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """What `reduce` gives for the elements up to each along an axis: a₀, a₀ ∘ a₁, ….

        Args:
            a: array (..., n, ...).
            axis: to go along.
            dtype: to which `a` is converted first.
            out: must be `None`.

        Returns:
            Array (..., n, ...).

        Example:
            >>> import morphax.numpy as jnp
            >>> jnp.subtract.accumulate(jnp.array([5, 1, 2]))
            Array([5, 4, 2], dtype=int32)
        """
        a = self._operand("accumulate", a)
        check_no_out(f"{self.__name__}.accumulate", out)
        run = self._options["accumulate"] or self._fold.accumulate
        return run(a, axis=axis, dtype=dtype)

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of each element of A (m, ...) with each of B (n, ...): (m, ..., n, ...)."""
        A, B = self._operand("outer", A), as_array(f"{self.__name__}.outer", B)
        run = self._options["outer"] or self._fold.outer
        return run(A, B)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """`a` after a[i] = a[i] ∘ b (of one operand, f(a[i])) for each place that `indices` names.

        Args:
            a: array.
            indices: index, slice, or a tuple of these; a place named twice is updated twice, one
                out of bounds is left out.
            b: values that broadcast to the shape of ``a[indices]``.
            inplace: must be `False`: the new array is returned.

        Example:
            >>> import morphax.numpy as jnp
            >>> jnp.add.at(jnp.zeros(3), jnp.array([0, 0]), 5.0, inplace=False)
            Array([10.,  0.,  0.], dtype=float32)
        """
        if inplace:
            raise NotImplementedError(
                message(
                    f"jnp.{self.__name__}.at, argument inplace",
                    given="True",
                    expected="False: arrays are immutable",
                    fix="Pass inplace=False, and use the result.",
                )
            )
        if self.nin != (1 if b is None else 2):
            raise TypeError(
                message(
                    f"jnp.{self.__name__}.at",
                    given=f"an array and {'no' if b is None else 'one'} operand beside it",
                    expected=f"{self.nin} operands together, which the function takes",
                    fix="Call at(a, indices, b) of functions of two, at(a, indices) of one.",
                )
            )
        a = as_array(f"{self.__name__}.at", a)
        run = self._options["at"] or self._fold.at
        return run(a, indices) if b is None else run(a, indices, b)

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Any:
        """`reduce` of the segments a[iₖ : iₖ₊₁] along an axis; a[iₖ] alone where iₖ ≥ iₖ₊₁.

        Args:
            a: array (..., n, ...).
            indices: vector (k,) of integers: where segments begin; the last one ends at n.
            axis: to go along.
            dtype: to which `a` is converted first.
            out: must be `None`.

        Returns:
            Array (..., k, ...).

        Raises:
            IndexError: a known index is not in [0, n).

        Example:
            >>> import morphax.numpy as jnp
            >>> jnp.add.reduceat(jnp.arange(5), jnp.array([0, 2]))
            Array([1, 9], dtype=int32)
        """
        a = self._operand("reduceat", a)
        check_no_out(f"{self.__name__}.reduceat", out)
        run = self._options["reduceat"] or self._fold.reduceat
        return run(a, indices, axis=axis, dtype=dtype)

    def _operand(self, method: str, a: Any) -> Any:
        """The array that a method of functions with two operands is given."""
        if (self.nin, self.nout) != (2, 1):
            raise ValueError(
                message(
                    f"jnp.{self.__name__}.{method}",
                    given=f"a function of {self.nin} operands with {self.nout} results",
                    expected="two operands and one result",
                    fix="Call the function itself, or map it with jax.vmap.",
                )
            )
        return as_array(f"{self.__name__}.{method}", a)


def _restored(func: Callable[..., Any], nin: int, nout: int, options: Mapping[str, Any]) -> ufunc:
    """A ufunc from what tells it apart."""
    return ufunc(func, nin, nout, **options)


def _on_arrays(name: str, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` mapped over the elements of arrays that broadcast together."""
    mapped = vectorize(func)

    @wraps(func)
    def function(*args: Any) -> Any:
        return mapped(*[as_array(name, x) for x in args])

    return function


def _refusing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with the arguments of NumPy that cannot be."""

    @wraps(function)
    def call(*args: Any, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            refuse_out_and_where(name, out)
        return function(*args)

    return call


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """The universal function that applies `func` to each element.

    Args:
        func: of `nin` scalars; returns `nout` of them.  It is traced, not called for each.
        nin, nout: how many operands, and results, it has.
        identity: e with func(e, x) = x, the result of `ufunc.reduce` for no elements.

    Example:
        >>> import morphax.numpy as jnp
        >>> larger = jnp.frompyfunc(lambda x, y: jnp.where(x > y, x, y), 2, 1)
        >>> larger.reduce(jnp.array([2, 7, 5]))
        Array(7, dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)
