"""The families of operations that hold one program.

What such operations compute is what the program computes.  They differ in how they are carried out
(`ProgramCall` just applies the program) and in how they are transformed (the transformations of a
`Call` are calls of the transformed program).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, final

from ..core import (
    AbstractValue,
    Atom,
    BatchAxes,
    Jaxpr,
    Operand,
    Param,
    Primitive,
    Var,
    apply_jaxpr,
    call_program,
    captures_as_operands,
    is_zero,
    jaxpr_axis_names,
    operands_as_captures,
    root_trace,
    without_references,
)
from ..core.effects import Effects
from ..engines import loops
from ..engines.reference.eager import RunsOnArrays, as_array
from ..engines.reference.kernel_program import kernel_program
from ..engines.reference.transformed_replay import applies_programs
from ..engines.xla.stablehlo import Builder, Value
from ..lax.ground.linear_structure import batched_first
from ..transforms.batching import batch_jaxpr, open_batch
from ..transforms.jvp import open_jvp
from ..transforms.linearize import Linearization
from ..transforms.staged_linearization import linearize_jaxpr
from ..transforms.transposition import TransposeFragment
from .bodies.body_primitive import HasBodies
from .bodies.wiring import Body, Role, Wiring
from .bodies.wiring_checks import check_varying
from .calls import split_tangents


class HoldsProgram(Primitive):
    """An operation that is what the parameter named `program` is."""

    multiple_results = True
    lowers_key_data = True
    program: ClassVar[str] = "jaxpr"

    def abstract_eval(self, *avals: AbstractValue, **params: Param) -> Sequence[Any]:
        program = params[self.program]
        check_varying(self.name, avals, program.in_avals)
        return program.out_avals

    def effects(self, **params: Param) -> Effects:
        return params[self.program].effects

    def axis_names(self, **params: Param) -> tuple[Any, ...]:
        return jaxpr_axis_names(params[self.program])

    def calling(
        self,
        jaxpr: Jaxpr,
        params: dict[str, Param],
        numbers: Sequence[int | None],
        *,
        shared: bool = False,
    ) -> dict[str, Any]:
        """The parameters of a call of another program; see `HasBodies.operand_params`."""
        return params | {self.program: jaxpr}

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int | None]]:
        """Batch axes stay where they are."""
        fragment = open_batch(params[self.program], dims, axes)
        program, captured = captures_as_operands(fragment.jaxpr)
        numbers = [*[None] * len(captured), *range(len(operands))]
        outs = self.bind(*captured, *operands, **self.calling(program, params, numbers))
        return outs, fragment.out_dims

    def collect(self, *args: Any, **params: Param) -> Any:
        return self.batch(*args, **params)


class AppliesProgram(HoldsProgram):
    """Apply the program: it may stand where the operation does."""

    narrow_in_loops = "kept"

    def interpret(self, *operands: Operand, **params: Param) -> list[Any]:
        return apply_jaxpr(without_references(params[self.program]), *operands)

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, **params: Param
    ) -> list[Value]:
        return b.inline(params[self.program], *operands)

    def to_loops(
        self, b: loops.Builder, outs: Sequence[Any], *operands: loops.Value, **params: Param
    ) -> list[loops.Value]:
        return b.inline(params[self.program], *operands, places=b.places)


class ProgramCall(AppliesProgram, RunsOnArrays):
    """Apply the program to arrays, one operation after the other."""

    def execute(self, *operands: Operand, **params: Param) -> list[Any]:
        return [as_array(x) for x in self.interpret(*operands, **params)]


def batched_in_front(
    axes: BatchAxes, dims: Sequence[int | None], params: dict[str, Param]
) -> dict[str, Any]:
    """Parameters with all programs batched, all of whose results have their batch axis in front.

    `dims` are those of their first operands; the others have theirs in front.
    """

    def batched(value: Operand) -> Any:
        if type(value) is not Jaxpr:
            return value
        in_dims = (*dims, *[0] * (len(value.invars) - len(dims)))
        return batch_jaxpr(value, in_dims, axes, (True,) * len(value.outvars)).jaxpr

    return {name: batched(value) for name, value in params.items()}


def linear_in_front(
    primitive: Primitive,
    axes: BatchAxes,
    operands: Sequence[Operand],
    dims: Sequence[int | None],
    params: dict[str, Param],
    constants: int,
) -> tuple[list[Any], Sequence[int]]:
    """A batched call that is linear in the operands after the constants.

    All of those are batched, so that their cotangents are.
    """
    pairs = zip(operands[constants:], dims[constants:], strict=True)
    linear = [batched_first(axes, x, d) for x, d in pairs]
    programs = batched_in_front(axes, dims[:constants], params)
    outs = primitive.bind(*operands[:constants], *linear, **programs)
    return outs, [0] * len(outs)


def call_wiring(program: str) -> Wiring:
    """The wiring of an operation that feeds all its operands to a program."""
    body = Body(program, takes=("operands",), gives=("results",))
    return Wiring(roles=(Role("operands"),), bodies=(body,))


class Call(HoldsProgram, HasBodies):
    """A call whose transformations are calls of the transformed program."""

    wiring = call_wiring("jaxpr")

    def calling(
        self,
        jaxpr: Jaxpr,
        params: dict[str, Param],
        numbers: Sequence[int | None],
        *,
        shared: bool = False,
    ) -> dict[str, Any]:
        about = self.operand_params(params, numbers, shared=shared)
        return params | {self.program: jaxpr} | about

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[list[Any], list[Any]]:
        """As that of operations with bodies, without the search for what has a tangent in the end.

        Jitted functions are many, so the difference is seen.
        """
        jaxpr, given = params[self.program], [t for t in tangents if not is_zero(t)]
        fragment = open_jvp(jaxpr, tuple([not is_zero(t) for t in tangents]))
        program, captured = captures_as_operands(fragment.jaxpr)
        numbers = [*[None] * len(captured), *range(len(primals)), *[None] * len(given)]
        results = self.bind(*captured, *primals, *given, **self.calling(program, params, numbers))
        return split_tangents(results, fragment.out_active, jaxpr.out_avals)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> Linearization:
        inner = linearize_jaxpr(params[self.program], active)

        def transpose(ct_active: tuple[bool, ...]) -> TransposeFragment:
            fragment = inner.transposed(ct_active)
            return fragment._replace(jaxpr=self._call(fragment.jaxpr, params))

        assert inner.forward is not None, "a program is split, it is not run"
        return Linearization(
            forward=self._forwarding_call(inner.forward, params),
            linear=lambda: self._call(inner.linear, params),
            out_active=inner.out_active,
            num_residuals=inner.num_residuals,
            transpose=transpose,
        )

    def _call(self, jaxpr: Jaxpr, params: dict[str, Param]) -> Jaxpr:
        """A program that consists of one call of `jaxpr`; it is open if that is."""
        closed, captured = captures_as_operands(jaxpr)
        named = self.calling(closed, params, [None] * len(closed.invars), shared=True)
        return operands_as_captures(call_program(self, closed.in_avals, named), captured)

    def _forwarding_call(self, jaxpr: Jaxpr, params: dict[str, Param]) -> Jaxpr:
        """The same, but what is an operand, or the same result again, does not pass through it."""
        jaxpr, captured = captures_as_operands(jaxpr)
        operands = set(jaxpr.invars)
        computed = tuple(
            dict.fromkeys([a for a in jaxpr.outvars if type(a) is Var and a not in operands])
        )
        call = self._call(jaxpr.replace(outvars=computed), params)
        outer: dict[Atom, Atom] = dict(zip(jaxpr.invars, call.invars, strict=True))
        outer.update(zip(computed, call.outvars, strict=True))
        forwarding = call.replace(outvars=tuple([outer.get(a, a) for a in jaxpr.outvars]))
        return operands_as_captures(forwarding, captured)


@final
class ReplayedProgram(Call, AppliesProgram):
    """Apply `jaxpr`, as one kernel: a function of the library under eager derivatives and batches.

    Params:
        jaxpr: the program.
    """

    name = "replayed"

    def kernel(self, *_: Any, jaxpr: Jaxpr) -> Callable[..., Any] | None:
        program = kernel_program(jaxpr, list)
        return None if program is None else program.function

    def evaluate(self, *operands: Any, jaxpr: Jaxpr) -> list[Any]:
        outs = root_trace().splice(jaxpr, list(map(as_array, operands)))
        return [as_array(x).to_host() for x in outs]


replayed_p = ReplayedProgram()
applies_programs.append(replayed_p)
