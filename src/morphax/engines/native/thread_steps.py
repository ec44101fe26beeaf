"""Long loops of independent steps, which several threads make.

Which steps a thread makes changes no bit: a vector of steps gives the bits of single steps, and
that no step touches what another one writes is proved as it is for vectors (`vector_loops`,
`masked_loops`).  So a loop that stands in no other, and is expected to take long, becomes a
function of the first vector, or step, and the one after the last; a pool of threads calls it with
pieces.  Steps beyond the last whole vector belong to the piece that has that.

Threads wait for each other where other programs run, so short loops are not divided, and only as
many threads take part as processors are free when the loop begins; with one thread
(``MORPHAX_EAGER_THREADS``), the caller makes all steps.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ...util.compiled import part
from ..loops.program import For, Statement
from .costs import work_of_loop
from .engine_times import CALL, NATIVE, nanoseconds
from .limits import WORTH_DIVIDING
from .llvm_scalars import scalar_type
from .loop_plans import LoopPlans
from .module_parts import function_text
from .shared_loops import taken_by
from .vector_loops import VectorLoop
from .vector_text import write_steps

if TYPE_CHECKING:
    from .llvm_statements import StatementPrinter

SHARE: Final = "share_steps"
"""What modules call the function that divides steps."""

_DECLARATION: Final = f"declare void @{SHARE}(ptr, ptr, i64)"

_compiled = part("machine_functions")
_steps_type: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def _share_steps(steps: int, context: int, count: int) -> None:
    """The twin of the compiled function: makes all of them."""
    _steps_type(steps)(context, 0, count)


_twin: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
    _share_steps
)


def address_of_sharing() -> int:
    """Where that function is."""
    if _compiled is not None:
        return int(_compiled.share_steps)
    address = ctypes.cast(_twin, ctypes.c_void_p).value
    assert address is not None, "a function of ctypes has an address"
    return address


def loops_to_divide(body: Sequence[Statement], plans: LoopPlans) -> dict[For, VectorLoop]:
    """The loops of a program's outermost block whose steps several threads are to make, and how."""
    loops = [x for x in body if type(x) is For and plans.has_pieces(x)]
    found = [(x, plans.divisible(x)) for x in loops if _time_of(x, plans) > WORTH_DIVIDING]
    return {x: plan for x, plan in found if plan is not None}


def time_divided(body: Sequence[Statement], plans: LoopPlans) -> float:
    """How many nanoseconds those loops are expected to take if one thread makes them."""
    return sum([_time_of(x, plans) - NATIVE[CALL] for x in loops_to_divide(body, plans)])


def _time_of(loop: For, plans: LoopPlans) -> float:
    return nanoseconds(work_of_loop(loop, plans), NATIVE)


def write_divided(p: StatementPrinter, loop: For, plan: VectorLoop) -> None:
    """A loop as functions, and a call that has all pieces of it made."""
    taken, name = taken_by(loop, plan.private), f"@steps{len(p.parts.texts)}"
    pointers = {x: f"%b{i}" for i, x in enumerate(taken.buffers)}
    # Copies for the members of a vector are made where these are written.
    own = [(f"%v{i}", x) for i, x in enumerate(taken.own)] if plan.width == 1 else []
    inner = type(p)(pointers | {x: name for name, x in own}, p.plans, p.parts)
    inner.texts |= {x: f"%n{i}" for i, x in enumerate(taken.names)}
    write_steps(inner, plan, "%first", "%end")
    types = [*["ptr"] * len(pointers), *[scalar_type(x.dtype) for x in taken.names]]
    memory = [f"ptr noalias noundef captures(none) {x}" for x in pointers.values()]
    scalars = [f"{scalar_type(x.dtype)} {inner.texts[x]}" for x in taken.names]
    steps = function_text(
        name,
        [*memory, *scalars, "i64 %first", "i64 %end"],
        own,
        [*inner.variables.lines, *inner.lines],
        convention="fastcc ",
    )
    p.parts.texts += [steps, _piece(name, plan, types)]
    p.parts.declarations[_DECLARATION] = None
    # It is long, so LLVM is to do what it can.
    p.repeat_any_times()
    given = [p.buffers[x] for x in taken.buffers] + [p.operand(x) for x in taken.names]
    context = p.variables.new(f"[{max(len(given), 1)} x i64]")
    for i, (type_, text) in enumerate(zip(types, given, strict=True)):
        at = p.new(f"getelementptr i64, ptr {context}, i64 {i}")
        p.line(f"store {type_} {text}, ptr {at}, align 8")
    count = plan.extent // plan.width
    p.line(f"call void @{SHARE}(ptr {name}.piece, ptr {context}, i64 {count})")


def _piece(name: str, plan: VectorLoop, types: Sequence[str]) -> list[str]:
    """The function that makes some vectors of steps, with what a caller has put somewhere."""
    lines = [f"define internal void {name}.piece(ptr %context, i64 %vector, i64 %last) #1 {{"]
    for i, type_ in enumerate(types):
        lines += [
            f"  %at{i} = getelementptr i64, ptr %context, i64 {i}",
            f"  %x{i} = load {type_}, ptr %at{i}, align 8",
        ]
    given = [f"{type_} %x{i}" for i, type_ in enumerate(types)]
    return [
        *lines,
        f"  %first = mul nsw i64 %vector, {plan.width}",
        f"  %before = mul nsw i64 %last, {plan.width}",
        f"  %is.last = icmp eq i64 %last, {plan.extent // plan.width}",
        f"  %end = select i1 %is.last, i64 {plan.extent}, i64 %before",
        f"  call fastcc void {name}({', '.join([*given, 'i64 %first', 'i64 %end'])})",
        "  ret void",
        "}",
    ]
