"""`cond` and `switch`: choose one of several functions at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from ... import dtypes, tree
from ...config import current as current_config
from ...core import (
    DType,
    Jaxpr,
    Operand,
    apply_jaxpr,
    aval_of,
    current_trace,
    frames_hidden,
    frames_hidden_here,
    is_concrete,
    root_trace,
    stage_with_operands,
)
from ...core.varying import vma_of
from ...lax.elementwise.clamping import clamp
from ...lax.elementwise.convert import convert_element_type
from ...lax.ground.axes import members
from ...transforms.flattening import (
    FlatFunction,
    argument_names,
    as_output,
    avals_of,
    check_values,
    debug_info,
    function_label,
)
from ...util.memo import memoize
from ...util.messages import described, message
from ..closing import common_captures, with_result_avals
from ..remembered import Recall
from .cond_primitive import cond_p


@final
class _NoOperand:
    """Tells an operand that is not given from `None`, which may be one."""

    def __repr__(self) -> str:
        return "..."


_no_operand: Final = _NoOperand()


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _no_operand,
) -> Any:
    """Apply `true_fun` if `pred` is true, else `false_fun`.

    Args:
        pred: boolean scalar (a number counts as true unless it is zero).
        true_fun, false_fun: functions of the operands, with results of one structure, shapes and
            dtypes.
        *operands: arrays or trees.
        operand: the one operand, in place of `operands`.

    ``cond(pred, true_operand, true_fun, false_operand, false_fun)``, with an operand for each
    function, is accepted too.

    Raises:
        TypeError: `pred` is not a scalar, or the results of the functions differ.

    Example:
        >>> import morphax as jax
        >>> jax.lax.cond(True, lambda x: x + 1, lambda x: x - 1, 5)
        Array(6, dtype=int32, weak_type=True)
    """
    with frames_hidden_here:
        operands = _all_operands("lax.cond", operands, operand)
        is_of_two = len(operands) == 2 and callable(false_fun) and callable(operands[1])
        if is_of_two and not callable(true_fun):
            of_first, of_second = false_fun, operands[1]
            return cond(
                pred, lambda x, _: of_first(x), lambda _, y: of_second(y), true_fun, operands[0]
            )
        check_functions("lax.cond", (true_fun, false_fun))
        aval = _scalar_aval("lax.cond, argument pred", pred, "a boolean scalar")
        if current_config().disable_jit and is_concrete(pred):
            return true_fun(*operands) if pred else false_fun(*operands)
        if aval.dtype != np.bool_:
            pred = convert_element_type(pred, np.bool_)
        index = convert_element_type(pred, np.int32)
        return chosen_branch("lax.cond", index, (false_fun, true_fun), operands)


@frames_hidden
def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = _no_operand,
) -> Any:
    """Apply ``branches[index]``; an index out of range is clamped.

    Args:
        index: integer scalar.
        branches: functions of the operands, with results of one structure, shapes and dtypes.
        *operands: arrays or trees.
        operand: the one operand, in place of `operands`.

    Raises:
        TypeError: `index` is not an integer scalar, or the results of the branches differ.
        ValueError: there are no branches.

    Example:
        >>> import morphax as jax
        >>> jax.lax.switch(1, [lambda x: x, lambda x: -x], 3.0)
        Array(-3., dtype=float32, weak_type=True)
    """
    operands = _all_operands("lax.switch", operands, operand)
    functions = tuple(members("lax.switch, argument branches", branches, "functions"))
    check_functions("lax.switch", functions)
    aval = _scalar_aval("lax.switch, argument index", index, "an integer scalar")
    if not functions or not dtypes.issubdtype(aval.dtype, np.integer):
        error = TypeError if functions else ValueError
        raise error(
            message(
                "lax.switch",
                given=f"{len(functions)} branches and an index {aval}",
                expected="at least one branch and an index of integer dtype",
                fix="Convert the index with astype('int32'), or give branches.",
            )
        )
    if len(functions) == 1:
        return functions[0](*operands)
    if current_config().disable_jit and is_concrete(index):
        return functions[min(max(int(index), 0), len(functions) - 1)](*operands)
    return chosen_branch(
        "lax.switch", _clamped(index, aval.dtype, len(functions)), functions, operands
    )


def _clamped(index: Operand, dtype: DType, count: int) -> Any:
    """The number of a branch: clamped in its own dtype, since another may not hold it."""
    last = min(count - 1, int(dtypes.iinfo(dtype).max))
    return convert_element_type(clamp(dtype.type(0), index, dtype.type(last)), np.int32)


def _all_operands(where: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """The operands, however they were given."""
    if operand is _no_operand:
        return operands
    if not operands:
        return (operand,)
    raise TypeError(
        message(
            f"{where}, argument operand",
            given=f"operand={operand!r:.80} besides {len(operands)} positional operands",
            expected="operands by position, or the keyword operand",
            fix="Pass all operands by position.",
        )
    )


def chosen_branch(
    where: str,
    index: Operand,
    functions: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    *,
    always: bool = False,
) -> Any:
    """Apply the function of number `index`, an int32 in range, to the operands.

    Args:
        where: who asks, for errors.
        index: the number.
        functions: of the operands, with results of the same types.
        operands: arrays or trees.
        always: whether the index is asked even if all functions are one.
    """
    leaves, in_tree = tree.flatten((operands, {}))
    check_values(where, lambda: argument_names(functions[0], in_tree), leaves)
    # Members that choose differently have different results.
    avals, decided = avals_of(leaves), vma_of(index)

    recall = Recall(functions, (where, avals, decided), (in_tree,))
    if recall.found is None:
        # A function that is given twice is called once.
        unique = {id(f): FlatFunction(f, in_tree, where) for f in functions}
        programs_of = {}
        for key, flat in unique.items():
            info = debug_info(where, flat.function, in_tree)
            programs_of[key] = stage_with_operands(flat, avals, info)
        flats = [unique[id(f)] for f in functions]
        staged = [programs_of[id(f)] for f in functions]
        programs = [jaxpr for jaxpr, _ in staged]
        _check_results(where, flats, programs)
        joined, extended = common_captures(programs, [captured for _, captured in staged])
        traced = tuple(with_result_avals(extended, decided)), flats[0].out_tree
        recall.found = recall.keep(traced, joined)
    (branches, out_tree), captured = recall.found
    given = [*captured, *leaves]
    is_choice = always or any([f is not functions[0] for f in functions])
    if not is_choice and current_trace() is not root_trace():
        # Written once: with each level of such branches programs would be twice as long.
        outs = apply_jaxpr(branches[0], *given)
        return out_tree.unflatten(list(map(as_output, outs)))
    passed, chosen = _passed_on(branches)
    outs = iter(cond_p.bind(index, *given, branches=chosen))
    return out_tree.unflatten([next(outs) if i is None else as_output(given[i]) for i in passed])


@memoize
def _passed_on(
    branches: tuple[Jaxpr, ...],
) -> tuple[tuple[int | None, ...], tuple[Jaxpr, ...]]:
    """For each result the operand that it is, whatever is chosen; and programs of the others."""
    places = [{v: i for i, v in enumerate(jaxpr.invars)} for jaxpr in branches]
    passed: list[int | None] = []
    for atoms in zip(*[jaxpr.outvars for jaxpr in branches], strict=True):
        operands = {own.get(a) for a, own in zip(atoms, places, strict=True)}
        passed.append(operands.pop() if len(operands) == 1 else None)
    if all([i is None for i in passed]):
        return tuple(passed), branches
    kept = [k for k, i in enumerate(passed) if i is None]
    return tuple(passed), tuple(
        [jaxpr.replace(outvars=tuple([jaxpr.outvars[k] for k in kept])) for jaxpr in branches]
    )


def check_functions(where: str, functions: Sequence[Any]) -> None:
    """Raise `TypeError` unless all branches can be called."""
    for f in functions:
        if not callable(f):
            raise TypeError(
                message(
                    where,
                    given=described(f),
                    expected="callables as branches",
                    fix="Pass functions; operands come after them.",
                )
            )


def _scalar_aval(where: str, x: Operand, expected: str) -> Any:
    aval = aval_of(x) if not isinstance(x, (list, tuple, dict)) else None
    if aval is not None and aval.shape == ():
        return aval
    raise TypeError(
        message(
            where,
            given=f"{x!r:.80}" if aval is None else f"{aval}",
            expected=expected,
            fix="Reduce it, for instance with jnp.any or jnp.all.",
        )
    )


def _check_results(where: str, flats: Sequence[FlatFunction], programs: Sequence[Jaxpr]) -> None:
    first, program = flats[0], programs[0]
    for flat, other in zip(flats[1:], programs[1:], strict=True):
        labels = f"{function_label(first.function)} and {function_label(flat.function)}"
        if flat.out_tree != first.out_tree:
            name = where.removeprefix("lax.")
            raise TypeError(
                message(
                    f"{where}, results of {labels}",
                    given=f"{name} branch outputs must have the same pytree structure, but these "
                    f"have {first.out_tree} and {flat.out_tree}",
                    expected="results of one structure",
                    fix="Return the same containers from every branch.",
                )
            )
        paths = tree.leaves_with_path(first.out_tree.unflatten(range(len(program.outvars))))
        for (path, _), a, b in zip(paths, program.out_avals, other.out_avals, strict=True):
            if a.is_high and a == b:
                continue
            if a.is_high or b.is_high or a.shape != b.shape or a.dtype != b.dtype:
                raise TypeError(
                    message(
                        f"{where}, result{tree.keystr(path)} of {labels}",
                        given=f"{a} and {b}",
                        expected="results of equal shapes and dtypes",
                        fix="Convert one of them with astype or jnp.broadcast_to.",
                    )
                )
            if a.split != b.split and None not in (a.split, b.split):
                raise TypeError(
                    message(
                        f"{where}, result{tree.keystr(path)} of {labels}",
                        given=f"{a} and {b}",
                        expected="results that are split alike over the mesh",
                        fix="Split one of them as the other with jax.sharding.reshard.",
                    )
                )
