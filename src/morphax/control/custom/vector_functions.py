"""Functions of users between vectors, which are trees: their programs, and whether they fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...core import Jaxpr, Operand, stage_discharged
from ...transforms.flattening import FlatFunction, debug_info
from ...tree import PyTreeDef
from ...util.messages import message


def staged_on_vectors(
    operation: str,
    name: str,
    function: Callable[..., Any],
    structure: PyTreeDef,
    avals: Sequence[Any],
    has_aux: bool = False,
) -> tuple[Jaxpr, list[Any], FlatFunction]:
    """The program of a function from one or more vectors to one; its captures; its structures.

    Args:
        operation: to which the function is given.
        name: of the function, as an argument.
        function: the function.
        structure: of each vector.
        avals: of all vectors.
        has_aux: whether it returns a pair of a vector and something, whose leaves are further
            results and whose structure is left in `aux` of the last item.
    """
    where = f"lax.{operation}, result of {name}"
    count = structure.num_leaves
    vectors = [structure.unflatten(avals[i : i + count]) for i in range(0, len(avals), count or 1)]
    in_tree = tree.structure((tuple(vectors), {}))
    flat = FlatFunction(function, in_tree, where, has_aux=has_aux)

    def with_aux(*leaves: Operand) -> list[Any]:
        outs = flat(*leaves)
        aux, flat.aux = tree.flatten(flat.aux)
        return [*outs, *aux]

    jaxpr, captured = stage_discharged(with_aux, avals, debug_info(operation, function, in_tree))
    given = jaxpr.out_avals[:count]
    shapes = [own.update(shape=a.shape) for own, a in zip(given, avals, strict=False)]
    check_like(where, (flat.out_tree, given), (structure, shapes))
    return jaxpr, captured, flat


def check_like(
    where: str, given: tuple[Any, Sequence[Any]], expected: tuple[Any, Sequence[Any]]
) -> None:
    """Raise an error naming the place unless two trees of avals agree up to weak types.

    Args:
        where: what is checked.
        given: a structure and its avals.
        expected: the same of what it must agree with.
    """
    structure, avals = expected
    if given[0] != structure:
        raise TypeError(
            message(
                where,
                given=f"the structure {given[0]}",
                expected=f"{structure}",
                fix="Return the containers of the value that it stands beside.",
            )
        )
    paths = tree.leaves_with_path(structure.unflatten(range(len(avals))))
    for (path, _), own, aval in zip(paths, given[1], avals, strict=True):
        if own.shape != aval.shape or own.dtype != aval.dtype:
            raise (ValueError if own.shape != aval.shape else TypeError)(
                message(
                    f"{where}{tree.keystr(path)}",
                    given=f"{own}",
                    expected=f"{aval}",
                    fix="Return values of the shapes and dtypes of what they stand beside.",
                )
            )
