"""A jaxpr as a Python function of NumPy arrays.

Eager mode looks up what to do for each operation, and wraps its result as an array.  Where a whole
program is known before, it becomes the text of a function, with one call of a kernel per equation,
in which NumPy arrays go from hand to hand; only the result is wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

from ...array import Array
from ...core import Atom, Equation, Jaxpr, Literal, Var, aval_of, current_trace
from ...core.staging import stage_closed
from ...core.values import host_value
from ...util.host_memory import pooled
from ...util.memo import memoize
from ...util.threads import WORTH_SHARING
from .. import reference
from .float_errors import ignore_float_errors, restore_float_errors
from .fusion import Chain, chain_of_one
from .kernels import Collect, KernelCall, are_large, kernel_or_rule
from .repeats import without_repeats
from .small_programs import SmallProgram, parts_of
from .views import copied, view_of, views_first

_LARGEST_CONSTANT = 1 << 14
# Elements: of fewer, machine code would save but microseconds.
_MANY = 1 << 14


def kernel_program(jaxpr: Jaxpr, collect: Collect | None = None) -> KernelCall | None:
    """A jaxpr's kernels as one call, or `None` if an operation of it is no plain call of NumPy.

    Of a function with a derivative of its own the program is read: nothing will differentiate the
    numbers that come out.
    """
    if any([eqn.primitive.plain_program or eqn.primitive.composed for eqn in jaxpr.eqns]):
        jaxpr = stage_closed(partial(_without_calls, jaxpr), jaxpr.in_avals)
    if not has_kernels(jaxpr):
        return None
    jaxpr = without_repeats(jaxpr)
    to_copy = copied(jaxpr)
    jaxpr = views_first(jaxpr, to_copy)
    is_large = are_large([v.aval for eqn in jaxpr.eqns for v in eqn.outvars])
    last_uses = _last_uses(jaxpr) if is_large else {}
    function = _function(jaxpr, to_copy, last_uses, collect is not None)
    return KernelCall(pooled(function) if is_large else function, jaxpr.out_avals, collect)


def has_kernels(jaxpr: Jaxpr) -> bool:
    """Whether each operation is a plain call of NumPy, or holds a program of such."""
    for eqn in jaxpr.eqns:
        primitive = eqn.primitive
        if primitive.plain_program is not None:
            if not has_kernels(eqn.params[primitive.plain_program]):
                return False
        elif primitive.execute is not None or primitive.process_eval is not None or eqn.effects:
            return False
    return True


def _without_calls(jaxpr: Jaxpr, *operands: Any) -> list[Any]:
    """Apply `jaxpr` in the current trace, with what it only calls, or composes, in place."""
    env: dict[Atom, Any] = dict(zip(jaxpr.invars, operands, strict=True))
    env.update(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    for eqn in jaxpr.eqns:
        inputs = [a.val if type(a) is Literal else env[a] for a in eqn.invars]
        called = eqn.primitive.plain_program
        if called is not None:
            outs = _without_calls(eqn.params[called], *inputs)
        elif eqn.primitive.composed is not None:
            outs = [eqn.primitive.composed(*inputs, **eqn.params)]
        else:
            out = eqn.primitive.bind(*inputs, **eqn.params)
            outs = out if eqn.primitive.multiple_results else [out]
        env.update(zip(eqn.outvars, outs, strict=True))
    constant = current_trace().constant
    return [constant(a.val) if type(a) is Literal else env[a] for a in jaxpr.outvars]


def _last_uses(jaxpr: Jaxpr) -> dict[Equation, list[Var]]:
    """The results of each equation and before that no later one needs."""
    needed = {*jaxpr.constvars, *[v for v in jaxpr.outvars if type(v) is Var]}
    uses: dict[Equation, list[Var]] = {}
    for eqn in reversed(jaxpr.eqns):
        of_eqn = [v for v in (*eqn.invars, *eqn.outvars) if type(v) is Var and v not in needed]
        uses[eqn] = list(dict.fromkeys(of_eqn))
        needed.update(of_eqn)
    return uses


def _function(
    jaxpr: Jaxpr,
    to_copy: Set[Atom],
    last_uses: Mapping[Equation, Sequence[Var]],
    is_tuple: bool,
) -> Callable[..., Any]:
    """The program as a function that drops arrays where `last_uses` says so."""
    space: dict[str, Any] = {"asarray": np.asarray}
    names: dict[int, str] = {}

    def define(value: np.ndarray[Any, Any], atom: Any) -> None:
        names[id(atom)] = name = f"c{len(space)}"
        space[name] = value

    def name_of(atom: Any) -> str:
        if type(atom) is Literal:
            define(_host(atom.val, atom.aval), atom)
        return names.setdefault(id(atom), f"v{len(names)}")

    operands = ", ".join([name_of(v) for v in jaxpr.invars])
    for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        define(_host(value, var.aval), var)
    setting = ignore_float_errors()
    try:
        constants = _constants(jaxpr)
    finally:
        restore_float_errors(setting)
    needed = _read(jaxpr, constants)
    for var, result in constants.items():
        if var in needed:
            define(np.array(result), var)  # as kernels make them: keys are words
    views: dict[Atom, bool] = {}
    lines = [f"def program({operands}):"]
    for part in parts_of(jaxpr.eqns, jaxpr.outvars, constants):
        item = _reading_views(part, views)
        equations, inputs, outputs = _parts(item)
        space[kernel := f"k{len(space)}"] = _kernel_of_line(item, to_copy, views)
        call = f"{kernel}({', '.join([name_of(a) for a in inputs])})"
        if type(item) is Equation:
            call = _as_arrays(call, item)
        lines.append(f"    {', '.join([name_of(v) for v in outputs])} = {call}")
        done = [v for eqn in equations for v in last_uses.get(eqn, ()) if v not in constants]
        dropped = [names[id(v)] for v in done if id(v) in names]
        lines += [f"    del {', '.join(dropped)}"] if dropped else []
    results = [name_of(v) for v in jaxpr.outvars]
    listed = ", ".join(results)
    lines.append(
        f"    return ({listed}{',' if results else ''})" if is_tuple else f"    return {listed}"
    )
    exec(_code("\n".join(lines)), space)
    return space["program"]


@memoize
def _code(text: str) -> CodeType:
    """A program's text, compiled; it is the same for operands of other sizes."""
    return compile(text, "<string>", "exec")


def _kernel_of_line(
    item: Equation | Chain | SmallProgram, to_copy: Set[Atom], views: dict[Atom, bool]
) -> Callable[..., Any]:
    """What a line calls; the variables that it makes are added to `views` if they are such.

    There it says whether several numbers of an operand are repeated in them.
    """
    if type(item) is Chain and aval_of(item.outputs[0]).size >= _MANY:
        return reference.kernel_with_code(item)
    if type(item) is Chain or type(item) is SmallProgram:
        return item.kernel()
    assert type(item) is Equation, "there are three kinds"
    view = view_of(item, to_copy)
    if view is None:
        return _kernel(item)
    largest = max([aval_of(a).size for a in item.invars], default=0)
    views.update([(v, 1 < largest < aval_of(v).size) for v in item.outvars])
    return view


def _reading_views(
    item: Equation | Chain | SmallProgram, views: Mapping[Atom, bool]
) -> Equation | Chain | SmallProgram:
    """A single operation that reads views is a chain, where that is faster.

    Threads share one of many numbers; and where numbers repeat, NumPy goes through the shortest
    rows one by one.
    """
    if type(item) is not Equation or views.keys().isdisjoint(item.invars):
        return item
    is_large = aval_of(item.outvars[0]).size >= WORTH_SHARING
    is_better = is_large or any([views.get(a, False) for a in item.invars])
    return (chain_of_one(item) if is_better else None) or item


def _parts(
    item: Equation | Chain | SmallProgram,
) -> tuple[list[Equation], Sequence[Atom], Sequence[Var]]:
    """The equations that one line computes, what it reads and what it writes."""
    if type(item) is Chain:
        return [eqn for _, eqn in item.equations], item.inputs, item.outputs
    if type(item) is SmallProgram:
        return list(item.equations), item.inputs, item.outputs
    assert type(item) is Equation, "there are three kinds"
    return [item], item.invars, item.outvars


def _as_arrays(call: str, eqn: Equation) -> str:
    if eqn.primitive.multiple_results:
        trailing = "" if len(eqn.outvars) > 1 else "[0]"
        return f"tuple(map(asarray, {call})){trailing}"
    # NumPy gives scalars where there are no axes.
    return call if aval_of(eqn.outvars[0]).shape else f"asarray({call})"


def _constants(jaxpr: Jaxpr) -> dict[Var, np.ndarray[Any, Any]]:
    """The small results that depend on no operand, such as counting numbers."""
    known: dict[Atom, np.ndarray[Any, Any]] = {
        var: _host(value, var.aval)
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True)
    }
    constants: dict[Var, np.ndarray[Any, Any]] = {}
    for eqn in jaxpr.eqns:
        inputs = [_host(a.val, a.aval) if type(a) is Literal else known.get(a) for a in eqn.invars]
        (first, *more) = eqn.outvars
        if any([x is None for x in inputs]) or more or aval_of(first).size > _LARGEST_CONSTANT:
            continue
        results = _kernel(eqn)(*inputs)
        result = np.asarray(results[0] if eqn.primitive.multiple_results else results)
        constants[first] = known[first] = result
    return constants


def _read(jaxpr: Jaxpr, constants: Mapping[Var, Any]) -> set[Atom]:
    """What the program reads when it runs: results, and operands of all that is no constant."""
    rest = [eqn for eqn in jaxpr.eqns if eqn.outvars[0] not in constants]
    atoms = [*jaxpr.outvars, *[a for eqn in rest for a in eqn.invars]]
    return {a for a in atoms if type(a) is not Literal}


def _host(value: Any, aval: Any) -> np.ndarray[Any, Any]:
    return value.to_host() if type(value) is Array else np.array(host_value(value, aval.dtype))


def _kernel(eqn: Equation) -> Callable[..., Any]:
    return kernel_or_rule(eqn.primitive, [a.aval for a in eqn.invars], eqn.params)
