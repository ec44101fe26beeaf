"""`sparse_jacobian` and `sparse_hessian`: every entry that may not be zero, in few products.

The program that is read for its pattern is the program that is run, so what the pattern leaves out
cannot reach an element, whatever the values: docs/design/sparse-jacobians.md has the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes, lax, tree
from ... import numpy as jnp
from ...control.checkpoint.checkpoint_primitive import checkpoint_p
from ...control.custom.custom_jvp import custom_jvp_call_p
from ...control.custom.custom_vjp_primitives import custom_vjp_call_p
from ...control.jit.jit_primitive import jit_p
from ...core import Jaxpr, Primitive, ShapedArray, aval_of, frames_hidden, stage_open
from ...experimental.sparse import BCOO
from ...transforms.derivatives import prepare
from ...transforms.flattening import FlatFunction, function_label
from ...transforms.gradients import check_inputs, grad
from ...util.messages import message
from .blocks import Block, blocks_of, verified
from .products import Products, forward_products, primitives_in, reverse_products


@frames_hidden
def sparse_jacobian(
    f: Callable[..., Any], x: Any, *, mode: str | None = None, check: bool = False
) -> Any:
    """The Jacobian ∂f(x) as a sparse array, by few products with it.

        J[i, j] = ∂fᵢ/∂xⱼ, stored where fᵢ may depend on xⱼ

    Which may depend on which is read off the program of f, for all x of these shapes.  Columns that
    have no row in common are computed by one product, so that a tridiagonal matrix of any size
    takes three.  Numbers are those of `jax.jacfwd` (in reverse mode: of `jax.jacrev`).

    Args:
        f: function of one array or tree of arrays, of floating dtypes, to an array or a tree.
        x: where; arrays of any shape.
        mode: "forward" for products with J, "reverse" for products with its transpose; by default
            what takes fewer.  A function with a `custom_vjp` has a reverse mode only.
        check: whether to compare a product of the result with a random vector to that of ∂f.

    Returns:
        What `jax.jacfwd` returns, with each array a `BCOO` of shape ``(*result.shape, *x.shape)``
        with sorted and unique indices.

    Raises:
        TypeError: if x or the result is not of floating dtype.
        ValueError: if `mode` is unknown, or the pattern is too large to hold.
        RuntimeError: if the check fails; in a traced program the numbers are NaN instead.

    The pattern follows the program, as in Griewank & Walther, "Evaluating Derivatives" (2008),
    chapter 7; the products are those of Curtis, Powell & Reid (1974).

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science import sparse_jacobian
        >>> jacobian = sparse_jacobian(lambda x: x[1:] * x[:-1], jnp.arange(4.0))
        >>> jacobian.nse
        6
        >>> jacobian.todense()
        Array([[1., 0., 0., 0.],
               [0., 2., 1., 0.],
               [0., 0., 3., 2.]], dtype=float32)
    """
    _check_mode(mode)
    leaves, flat = prepare("sparse_jacobian", f, (x,), False)
    check_inputs("sparse_jacobian", f, flat.in_tree, leaves, np.floating)
    program = stage_open(flat, [aval_of(leaf) for leaf in leaves])
    results = program.out_avals
    _check_results(f, results)
    if mode is None and custom_vjp_call_p in primitives_in(program):
        mode = "reverse"
    if mode == "reverse":
        products = reverse_products(flat, leaves, results)
        return _compressed("sparse_jacobian", products, "by_columns", flat, x, check)
    products = forward_products(flat, leaves)
    is_reversible = primitives_in(program) <= _REVERSIBLE
    if mode is None and is_reversible and _is_of_one_dtype([*products.vectors, *results]):
        dependence = products.dependence
        if dependence.by_rows.num_colours < dependence.by_columns.num_colours:
            products = reverse_products(flat, leaves, results)
    return _compressed("sparse_jacobian", products, "by_columns", flat, x, check)


@frames_hidden
def sparse_hessian(
    f: Callable[..., Any], x: Any, *, symmetric: bool | None = None, check: bool = False
) -> Any:
    """The Hessian ∂²f(x) as a sparse array, by few products with it.

        H[i, j] = ∂²f/∂xᵢ∂xⱼ, stored where ∂f/∂xᵢ may depend on xⱼ

    The products are forward over reverse, as those of `jax.hessian`; see `sparse_jacobian`.

    Args:
        f: function of one array or tree of arrays, of floating dtypes, to a scalar.
        x: where; arrays of any shape.
        symmetric: whether an entry may be read from its mirror image, which takes fewer products
            where some columns are long.  By default it may if that is so, and f is made of
            operations whose derivatives are known to be derivatives: rules of the user (custom_jvp,
            custom_vjp, as in `jax.nn.relu`) need not be.
        check: whether to compare a product of the result with a random vector to that of ∂²f.

    Returns:
        What `jax.hessian` returns, with each array a `BCOO` of shape ``(*x.shape, *x.shape)`` with
        sorted and unique indices.

    Raises:
        TypeError: if x is not of floating dtype, or the result is no floating scalar.
        ValueError: if the pattern is too large to hold.
        RuntimeError: if the check fails; in a traced program the numbers are NaN instead.

    Products for symmetric matrices are those of Powell & Toint (1979); Gebremedhin, Manne & Pothen,
    "What color is your Jacobian?" (2005), is a survey.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science import sparse_hessian
        >>> hessian = sparse_hessian(lambda x: jnp.sum((x[1:] - x[:-1] ** 2) ** 2), jnp.ones(3))
        >>> hessian.todense()
        Array([[ 8., -4.,  0.],
               [-4., 10., -4.],
               [ 0., -4.,  2.]], dtype=float32)
    """
    leaves, of_value = prepare("sparse_hessian", f, (x,), False)
    check_inputs("sparse_hessian", f, of_value.in_tree, leaves, np.floating)
    _, flat = prepare("sparse_hessian", grad(f), (x,), False)
    products = forward_products(flat, leaves)
    dependence, reading = products.dependence, "by_columns"
    if symmetric is not False and _is_of_one_dtype(products.vectors):
        if dependence.by_mirror_images.num_colours < dependence.by_columns.num_colours:
            program = stage_open(of_value, [aval_of(leaf) for leaf in leaves])
            if symmetric or _has_true_derivatives(program):
                reading = "by_mirror_images"
    return _compressed("sparse_hessian", products, reading, flat, x, check)


def _compressed(
    where: str,
    products: Products,
    reading: str,
    flat: FlatFunction,
    x: Any,
    check: bool,
) -> Any:
    """The matrix as a tree of arrays: for each leaf of the result, for each leaf of x."""
    blocks = blocks_of(products, reading)
    if check:
        blocks = verified(where, products, blocks)
    outs, inputs = products.rows_and_columns
    arrays = iter(
        [_sparse(b, (*outs[b.places.out].shape, *inputs[b.places.input].shape)) for b in blocks]
    )
    structure = tree.structure(x)
    rows = [structure.unflatten([next(arrays) for _ in inputs]) for _ in outs]
    return flat.out_tree.unflatten(rows)


def _sparse(block: Block, shape: tuple[int, ...]) -> BCOO:
    return BCOO(
        (block.data, jnp.asarray(block.places.indices)),
        shape=shape,
        indices_sorted=True,
        unique_indices=True,
    )


def _is_of_one_dtype(avals: Sequence[ShapedArray]) -> bool:
    return len({aval.dtype for aval in avals}) == 1


# Besides the primitives of lax: what these compute, their programs compute.
_PLAIN_CALLS = frozenset([jit_p, checkpoint_p])
_OF_LAX = frozenset([p for p in vars(lax).values() if isinstance(p, Primitive)])
_REVERSIBLE = (_OF_LAX | _PLAIN_CALLS | {custom_jvp_call_p}) - {lax.while_p}
_WITHOUT_RULES = (_OF_LAX | _PLAIN_CALLS) - {lax.linear_solve_p}


def _has_true_derivatives(program: Jaxpr) -> bool:
    """Whether every operation has derivatives that nobody but us has written."""
    return primitives_in(program) <= _WITHOUT_RULES


def _check_mode(mode: object) -> None:
    if mode not in (None, "forward", "reverse"):
        raise ValueError(
            message(
                "sparse_jacobian, argument mode",
                given=f"{mode!r}",
                expected='"forward", "reverse" or None',
                fix="Leave it out for the mode that takes fewer products.",
            )
        )


def _check_results(f: Callable[..., Any], results: Sequence[ShapedArray]) -> None:
    for aval in results:
        if not dtypes.issubdtype(aval.dtype, np.floating):
            raise TypeError(
                message(
                    f"sparse_jacobian, result of {function_label(f)}",
                    given=f"{aval}",
                    expected="arrays of floating dtype",
                    fix="Leave out results that have no derivative; take the real and the "
                    "imaginary part of complex ones.",
                )
            )
