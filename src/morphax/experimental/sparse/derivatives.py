"""Derivatives with respect to sparse arrays: `grad`, `value_and_grad`, `jacfwd` and `jacrev`.

Only stored elements vary: the gradient has the places of the argument.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from ... import numpy as jnp
from ... import tree
from ...core import aval_of, carries_aval
from ...transforms import gradients, jacobians
from ...util.messages import message
from .base import JAXSparse
from .bcoo import BCOO

ArgNums = int | Sequence[int]


def _is_sparse(x: object) -> bool:
    return isinstance(x, JAXSparse)


def _apart(args: Sequence[Any], argnums: ArgNums) -> tuple[list[int], list[Any], list[Any]]:
    """Positions of arguments to be differentiated, what varies of them, and the whole ones."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    chosen = [index(n) % max(len(args), 1) for n in numbers]
    if any(not -len(args) <= n < len(args) for n in numbers):
        raise ValueError(
            message(
                "sparse.grad, argument argnums",
                given=f"{argnums} with {len(args)} positional arguments",
                expected="numbers of positional arguments",
                fix="Pass the argument positionally.",
            )
        )
    whole = [args[i] for i in chosen]
    return chosen, [tree.map(_data, x, is_leaf=_is_sparse) for x in whole], whole


def _data(x: Any) -> Any:
    return x.data if isinstance(x, JAXSparse) else x


def _with_data(x: Any, data: Any) -> Any:
    """The sparse array with other elements at its places."""
    if not isinstance(x, JAXSparse):
        return data
    (_, *places), static = x.tree_flatten()
    return type(x).tree_unflatten(static, (data, *places))


def _put_back(whole: Any, data: Any) -> Any:
    return tree.map(_with_data, whole, data, is_leaf=_is_sparse)


def _differentiated(
    transformation: Callable[..., Any],
    fun: Callable[..., Any],
    argnums: ArgNums,
    has_aux: bool,
    rebuilt: Callable[[Any, Any, Any], Any],
    options: dict[str, Any],
) -> Callable[..., Any]:
    """`transformation` of `fun` as a function of the stored elements.

    `rebuilt` makes the derivative with respect to an argument: (argument, derivative, result).
    """

    @functools.wraps(fun)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        chosen, varying, whole = _apart(args, argnums)

        def of_data(*data: Any) -> Any:
            full = list(args)
            for i, x, values in zip(chosen, whole, data, strict=True):
                full[i] = _put_back(x, values)
            return fun(*full, **kwargs)

        numbers = 0 if isinstance(argnums, int) else tuple(range(len(chosen)))
        result = transformation(of_data, argnums=numbers, has_aux=has_aux, **options)(*varying)
        return rebuilt(whole[0] if isinstance(argnums, int) else tuple(whole), result, has_aux)

    return derivative


def grad(
    fun: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """`jax.grad`, where arguments may be sparse: the gradient has the places of the argument.

    Args:
        fun: function with a scalar result.
        argnums: which positional arguments to differentiate.
        has_aux: whether `fun` returns a pair of result and auxiliary data.
        **kwargs: further arguments of `jax.grad`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.eye(2)
        >>> sparse.grad(lambda m: (m @ jnp.array([3.0, 4.0])).sum())(m).data
        Array([3., 4.], dtype=float32)
    """

    def rebuilt(whole: Any, result: Any, has_aux: Any) -> Any:
        return (_put_back(whole, result[0]), result[1]) if has_aux else _put_back(whole, result)

    return _differentiated(gradients.grad, fun, argnums, has_aux, rebuilt, kwargs)


def value_and_grad(
    fun: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., tuple[Any, Any]]:
    """`jax.value_and_grad`, where arguments may be sparse; as `grad`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCOO.fromdense(jnp.array([0.0, 3.0]))
        >>> value, slope = sparse.value_and_grad(lambda x: (x.data**2).sum())(x)
        >>> value, slope.todense()
        (Array(9., dtype=float32), Array([0., 6.], dtype=float32))
    """

    def rebuilt(whole: Any, result: Any, has_aux: Any) -> Any:
        return result[0], _put_back(whole, result[1])

    return _differentiated(gradients.value_and_grad, fun, argnums, has_aux, rebuilt, kwargs)


def jacfwd(
    fun: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """`jax.jacfwd`, where arguments may be sparse.

    Args:
        fun: function whose result is one dense array.
        argnums, has_aux: as those of `grad`.
        **kwargs: further arguments of `jax.jacfwd`.

    Returns:
        A function that returns, for a BCOO argument, a BCOO array whose first axes, those of the
        result of `fun`, are batch axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCOO.fromdense(jnp.array([0.0, 3.0]))
        >>> sparse.jacfwd(lambda x: x.todense() ** 2)(x).todense()
        Array([[0., 0.],
               [0., 6.]], dtype=float32)
    """
    return _differentiated(jacobians.jacfwd, fun, argnums, has_aux, _jacobian, kwargs)


def jacrev(
    fun: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """`jax.jacrev`, where arguments may be sparse; as `jacfwd`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0]]))
        >>> sparse.jacrev(lambda m: (m @ jnp.array([1.0, 3.0])) ** 2)(m).todense()
        Array([[[ 0., 36.]]], dtype=float32)
    """
    return _differentiated(jacobians.jacrev, fun, argnums, has_aux, _jacobian, kwargs)


jacobian = jacrev


def _jacobian(whole: Any, result: Any, has_aux: Any) -> Any:
    derivative, *aux = result if has_aux else (result,)
    found = tree.map(_rows, whole, derivative, is_leaf=_is_sparse)
    return (found, *aux) if has_aux else found


def _rows(x: Any, derivative: Any) -> Any:
    """The derivative of a dense result with respect to one argument."""
    if not isinstance(x, JAXSparse):
        return derivative
    if not isinstance(x, BCOO) or not carries_aval(derivative):
        raise NotImplementedError(
            message(
                "Jacobian with respect to a sparse array",
                given=f"the argument {x!r} and a result of the structure "
                f"{tree.structure(derivative)}",
                expected="a BCOO array, and one dense array as the result",
                fix="Return todense(), or differentiate with respect to the data.",
            )
        )
    extra = aval_of(derivative).shape[: aval_of(derivative).ndim - aval_of(x.data).ndim]
    indices = jnp.broadcast_to(x.indices, (*extra, *aval_of(x.indices).shape))
    return BCOO(
        (derivative, indices),
        shape=(*extra, *x.shape),
        indices_sorted=x.indices_sorted,
        unique_indices=x.unique_indices,
    )
