"""`from_c`: plain C functions, function pointers and ufuncs as operations.

Reference: docs/design/foreign-functions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from ... import dtypes
from ...config import current as current_config
from ...core import aval_of, frames_hidden
from ...lax.elementwise.convert import convert_element_type
from ...lax.shape.common_shapes import broadcast_shapes
from ...lax.shape.shape_operations import broadcast_in_dim
from ...transforms.flattening import check_avals
from ...util.memo import MemoTable, missing
from ...util.messages import described, message
from .loop_primitive import Derivative, foreign_call_p
from .loops import Loop
from .sources import c_loops
from .ufuncs import ufunc_loops

_WHERE = "ffi.from_c"
_KINDS = "bifc"

_Prepared = tuple[Loop, list[Callable[[Any], Any]] | None]


@final
class ForeignFunction:
    """A function of arrays that foreign code computes, as `from_c` makes it.

    Args:
        name: of the function.
        loops: those for arrays of different dtypes, the first that fits is called.
        derivative: its partial derivatives, or `None`.
        described: what it is, for people.
    """

    def __init__(
        self,
        name: str,
        loops: Sequence[Loop],
        derivative: Derivative | None,
        described: str,
    ) -> None:
        self.__name__ = name
        self.__doc__ = described
        self._loops = loops
        self._derivative = derivative
        self._prepared: MemoTable[_Prepared] = MemoTable()

    @frames_hidden
    def __call__(self, *operands: Any) -> Any:
        """The results for operands, which are broadcast against each other along a batch.

        Raises:
            TypeError: an operand is no array or has another dtype, or there are too few or many.
            ValueError: shapes do not fit.
        """
        name = self.__name__
        try:
            avals = tuple(map(aval_of, operands))
        except TypeError:
            check_avals(name, lambda: [f"number {i}" for i in range(len(operands))], operands)
            raise
        # What is available depends on the 64-bit mode, as the avals of Python's numbers do.
        key = current_config().enable_x64, avals
        prepared = self._prepared[key]
        if prepared is missing:
            prepared = self._prepared.add(key, _prepare(name, self._loops, avals))
        loop, changes = prepared
        if changes is not None:
            operands = tuple([c(x) for c, x in zip(changes, operands, strict=True)])
        outs = foreign_call_p.bind(*operands, loop=loop, derivative=self._derivative)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def __repr__(self) -> str:
        return f"<foreign function {self.__doc__}>"


def from_c(
    function: Any,
    prototype: str | None = None,
    *,
    shapes: str | None = None,
    derivative: Derivative | None = None,
    flags: Sequence[str] = ("-O3",),
    compiler: str | None = None,
) -> ForeignFunction:
    r"""An operation that C, or whatever has the interface of C, computes.

    It works under `jit`, `vmap` and, with a derivative, `grad`.  The code is trusted: if the
    prototype is not that of the function, memory is read and written that belongs to others.

    A function of numbers, ``double f(double x, double y)``, is applied element by element, and
    operands are broadcast.  A function of arrays, ``void f(const float* x, int64_t n, float* y)``,
    needs their shapes: pointers to ``const`` are operands, others results, which it writes wholly;
    an integer that is named like a size is given that size; other numbers are operands of shape ().
    It returns nothing, or an ``int`` that is 0 or the code of an error.  Arrays lie in row-major
    order.  Further axes in front are a batch, along which it is called again and again.

    Where 64-bit numbers are off, a ``double`` that is passed by value stands for a float32: it is
    computed in double precision and then rounded.

    Args:
        function: C source (its text is compiled once and kept); a function of `ctypes`, of Numba's
            ``cfunc``, or an address; or a ufunc of NumPy or SciPy.
        prototype: which function it is, as C declares it.  May be left out if a source defines
            one function, or if ctypes knows the types.
        shapes: of the arrays, such as ``"(m, k), (k, n) -> (m, n)"``.
        derivative: of a function of numbers: from the operands to the partial derivatives of the
            result with respect to each, as a tuple.  For other functions use `jax.custom_jvp` or
            `jax.custom_vjp`.
        flags: of the compiler.
        compiler: its path; the system's if left out.

    Raises:
        TypeError: `function` is none of these.
        ValueError: `prototype` or `shapes` cannot be read, do not fit together, or are missing; the
            source does not compile; something that it calls is not defined.
        FileNotFoundError: there is no compiler.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> import numpy as np
        >>> logaddexp = jax.ffi.from_c(np.logaddexp)
        >>> jax.jit(logaddexp)(jnp.zeros(2), 0.0)
        Array([0.6931472, 0.6931472], dtype=float32)
        >>> power = jax.ffi.from_c(
        ...     "#include <math.h>\ndouble power(double x, double y) { return pow(x, y); }",
        ...     derivative=lambda x, y: (y * power(x, y - 1), jnp.log(x) * power(x, y)),
        ... )
        >>> print(power(2.0, 3.0), jax.grad(power)(2.0, 3.0))
        8.0 12.0
    """
    if derivative is not None and not callable(derivative):
        raise TypeError(
            message(
                f"{_WHERE}, argument derivative",
                given=described(derivative),
                expected="a function of the operands that returns a tuple",
                fix="Write derivative=lambda x, y: (df_dx, df_dy).",
            )
        )
    if isinstance(function, np.ufunc):
        if prototype is not None or shapes is not None:
            raise ValueError(
                message(
                    _WHERE,
                    given="a ufunc with a prototype or shapes",
                    expected="a ufunc alone, which knows its own",
                    fix="Leave out prototype and shapes.",
                )
            )
        name, loops, text = ufunc_loops(_WHERE, function)
    else:
        name, loops, text = c_loops(_WHERE, function, prototype, shapes, flags, compiler)
    made = ForeignFunction(name, loops, derivative, text)
    if derivative is not None:
        _check_differentiable(made, loops)
    return made


def _check_differentiable(function: ForeignFunction, loops: Sequence[Loop]) -> None:
    """Raise `ValueError` unless partial derivatives say all of the derivative."""
    cores = [core for loop in loops for core in (*loop.shapes.operands, *loop.shapes.results)]
    if any(cores) or any([len(loop.out_dtypes) > 1 for loop in loops]):
        raise ValueError(
            message(
                f"{_WHERE}, argument derivative",
                given=f"a derivative of {function.__doc__}",
                expected="a function of numbers with one result, for partial derivatives of others "
                "are not elementwise",
                fix="Wrap the operation in a function with jax.custom_jvp or jax.custom_vjp.",
            )
        )


def _prepare(name: str, loops: Sequence[Loop], avals: Sequence[Any]) -> _Prepared:
    """The loop for operands of these avals, and what is to be done with each before."""
    loop = _chosen(name, loops, avals)
    where, cores = f"the foreign function {name}", loop.shapes.operands
    shapes = [aval.shape for aval in avals]
    loop.shapes.sizes(where, shapes)
    batches = [s[: len(s) - len(core)] for s, core in zip(shapes, cores, strict=True)]
    batch = broadcast_shapes(*batches)
    wholes = [
        s if own in ((), batch) else (*batch, *s[len(own) :])
        for s, own in zip(shapes, batches, strict=True)
    ]
    changes: list[Callable[[Any], Any]] = [
        partial(_changed, *each) for each in zip(avals, loop.in_dtypes, wholes, strict=True)
    ]
    same = [
        aval.shape == whole and aval.dtype == dtype
        for aval, dtype, whole in zip(avals, loop.in_dtypes, wholes, strict=True)
    ]
    return loop, None if all(same) else changes


def _changed(aval: Any, dtype: np.dtype[Any], whole: tuple[int, ...], x: Any) -> Any:
    """An operand, converted to a dtype and repeated to a shape."""
    if aval.dtype != dtype:
        x = convert_element_type(x, dtype)
    if aval.shape != whole:
        x = broadcast_in_dim(x, whole, range(len(whole) - len(aval.shape), len(whole)))
    return x


def _chosen(name: str, loops: Sequence[Loop], avals: Sequence[Any]) -> Loop:
    """The first loop that takes operands of these avals."""
    available = [loop for loop in loops if loop.is_available]
    for loop in available:
        if len(avals) == len(loop.in_dtypes) and all(map(_fits, avals, loop.in_dtypes)):
            return loop
    taken = [", ".join([d.name for d in loop.in_dtypes]) for loop in available]
    raise TypeError(
        message(
            f"the foreign function {name}, operands",
            given=", ".join(map(str, avals)) or "none",
            expected=" or ".join(dict.fromkeys(taken))
            or "64-bit numbers, which are off: it reads and writes memory of that size",
            fix="Convert operands with x.astype(dtype), or enable jax_enable_x64 for 64-bit ones.",
        )
    )


def _fits(aval: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an operand is of a dtype, or a Python number that can be."""
    if aval.dtype == dtype:
        return True
    kinds = [_kind(aval.dtype), _kind(dtype)]
    return bool(aval.weak_type) and -1 not in kinds and kinds[0] <= kinds[1]


def _kind(dtype: Any) -> int:
    kind = "f" if dtypes.issubdtype(dtype, np.floating) else getattr(dtype, "kind", "?")
    return _KINDS.find("i" if kind == "u" else kind)
