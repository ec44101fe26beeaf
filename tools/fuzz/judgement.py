"""Whether a program gives the same in all ways."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import morphax as jax
from morphax.engines.loops import NotALoopProgram

from .comparison import Difference, Failure, Leaf, Outcome, difference, moved_apart, outcome
from .program import Program
from .subject import Subject, is_random
from .ways import RELATIONS, SAME, Run, along, backward, eager, without_jit

SAMPLES = 6
MORE_SAMPLES = 24
STEP = 2.0**-12
TRUTH, SLOPE, RUNS = "float64", "slope", "runs"
# Their derivative is not, or need not be, the limit of a quotient of differences.
WITHOUT_SLOPE = (
    "stop_gradient bitcast reduce_precision nextafter frexp callback STATE Holder globals eps"
).split()
# They single out values at which a derivative need not be a limit; it is looked at beside them.
CHOOSING = (
    "== != equal close clip clamp where any all sign abs max min sort median bool "
    "nonzero relu floor ceil round trunc"
).split()
ASIDE = 2.0**-6
# They count the bits of a number, of which there are more, or see that it underflows.
OF_WIDTH = "population_count bitwise_count clz invert >> << random. bits nonzero".split()
DERIVATIVES = "grad jvp vjp linearize jac hessian transpose".split()
# Refusals to differentiate, which an evaluation does not meet.
REFUSALS = (
    "custom_vjp",
    "callback",
    "not differentiable",
    "reverse",
    "integer",
    "complex",
    "forward",
)


@dataclass(frozen=True)
class Disagreement:
    """A way that does not agree, and how."""

    way: str
    kind: str
    text: str


def _always(way: str) -> bool:
    return way in ("again", "disable_jit", "staged", "no identity")


def chosen_ways(rng: random.Random) -> list[str]:
    """The ways for a program: cheap ones always, others now and then."""
    shares = {"xla": 0.0, "jit": 0.1, "clear_caches": 0.08, "vmap": 0.5, TRUTH: 0.4, SLOPE: 0.4}
    names = [RUNS, *SAME, *RELATIONS, TRUTH, SLOPE]
    return [
        way for way in names if way == RUNS or _always(way) or rng.random() < shares.get(way, 0.3)
    ]


class Judge:
    """One program, with what is known about it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.subject = Subject(program)
        with jax.enable_x64(self.subject.x64):
            self.base = outcome(lambda: eager(self.subject.main(), self.subject))

    def disagreements(self, ways: Iterable[str]) -> list[Disagreement]:
        """Those of the ways that do not agree."""
        found = []
        for way in ways:
            with jax.enable_x64(self.subject.x64):
                result = self.check(way)
            if result is not None:
                found.append(Disagreement(way, result.kind, result.text))
        return found

    def check(self, way: str) -> Difference | None:
        """How one way disagrees."""
        if way == RUNS:
            return self._internal()
        if isinstance(self.base, Failure) and way not in SAME:
            return None
        if way == TRUTH:
            return None if self.program.special else self._truth()
        if way == SLOPE:
            return None if self.program.special else self._slope()
        if way in RELATIONS:
            return self._relation(way)
        return self._same(SAME[way])

    def _internal(self) -> Difference | None:
        if isinstance(self.base, Failure) and self.base.internal:
            return Difference(f"internal {self.base.name}", str(self.base))
        return None

    def _same(self, run: Run) -> Difference | None:
        if self._internal():
            return None
        found = outcome(lambda: run(self.subject.main(), self.subject))
        if isinstance(found, Failure) and found.name == NotALoopProgram.__name__:
            return None
        if run is without_jit:
            found = self._without_checks(found)
        if "fft" in self.subject.source and not _finite(self.base):
            found = self._with_own_gaps(found)
        return self.compared(found)

    def _with_own_gaps(self, found: Outcome) -> Outcome:
        """Which results of a transform are NaN where not all numbers are finite is no promise.

        It depends on the sums that an algorithm does not take, for their factors are 0.
        """
        if isinstance(found, Failure) or isinstance(self.base, Failure):
            return found
        if len(found) != len(self.base):
            return found
        return tuple([_without_nan(*pair) for pair in zip(found, self.base, strict=True)])

    def _without_checks(self, found: Outcome) -> Outcome:
        """What Python's own loops and branches give, without what they leave out.

        They check less, meet errors in another order, and do not convert a weak carry.
        """
        if isinstance(self.base, Failure):
            return found if isinstance(found, Failure) and found.internal else self.base
        if isinstance(found, Failure) or len(found) != len(self.base):
            return found
        pairs = [_with_type_of(*pair) for pair in zip(found, self.base, strict=True)]
        if any(word in self.subject.source for word in DERIVATIVES):
            # A loop multiplies by cotangents that are 0; written out, it has none.
            pairs = [_with_nan_of(*pair) for pair in zip(pairs, self.base, strict=True)]
        return tuple(pairs)

    def compared(self, found: Outcome) -> Difference | None:
        """How an outcome differs from that of eager evaluation."""
        return self._confirmed(found, self.base, self.base, eager)

    def _confirmed(
        self,
        found: Outcome,
        expected: Outcome,
        base: Outcome,
        run: Run,
        subject: Subject | None = None,
        types: bool = True,
    ) -> Difference | None:
        """The difference that is left after noise has been allowed for."""
        first = difference(found, expected, types)
        if first is None or first.kind != "value":
            return first
        subject = subject or self.subject
        for samples in (range(SAMPLES), range(SAMPLES, MORE_SAMPLES)):
            moved = [outcome(partial(_moved, run, subject, sample)) for sample in samples]
            first = moved_apart(found, expected, base, moved)
            if first is None:
                return None
        return first

    def _relation(self, way: str) -> Difference | None:
        relation, subject = RELATIONS[way], self.subject
        if relation.differentiates and not subject.floats():
            return None
        if relation.differentiates and "reduce_precision" in subject.source:
            return None  # it rounds tangents, too
        if all(each.scalar for each in self.program.inputs):
            return None
        expected = outcome(lambda: relation.expected(subject.main(), subject))
        found = outcome(lambda: relation.found(subject.main(), subject))
        if relation.differentiates and (refused(found) or refused(expected)):
            return None
        if isinstance(expected, Failure) and not expected.internal:
            return None
        if relation.differentiates and not (_finite(found) and _finite(expected)):
            return None  # an infinite factor meets a zero in one order and not in the other
        first = self._confirmed(found, expected, expected, relation.expected, types=relation.types)
        if first is None or first.kind != "value":
            return first
        # Noise moves a sum that cancels, where the other side leaves the terms out.
        return self._confirmed(found, expected, found, relation.found, types=relation.types)

    def _truth(self) -> Difference | None:
        """The difference from the same program with floating numbers of 64 bits."""
        if self.program.x64 or any(word in self.subject.source for word in OF_WIDTH):
            return None
        wide = Subject(self.program, wide=True)
        with jax.enable_x64(True):
            truth = outcome(lambda: eager(wide.main(), wide))
            if isinstance(truth, Failure):
                return Difference(f"internal {truth.name}", str(truth)) if truth.internal else None
            if not _finite(self.base) and "float16" in self.program.script():
                return None  # of float16, which ends at 65504
            found = self._confirmed(self.base, truth, truth, eager, wide, types=False)
        return found if found is None or found.kind == "value" else None

    def _slope(self) -> Difference | None:
        """The difference of the derivative from a quotient of differences."""
        wide = Subject(self.program, wide=True)
        if is_random(wide) or any(word in wide.source for word in WITHOUT_SLOPE):
            return None
        if not wide.floats():
            return None
        with jax.enable_x64(True), np.errstate(all="ignore"):
            found = _slope_at(wide, 0.0)
            if found is not None and any(word in wide.source for word in CHOOSING):
                # What singles out a value has no limit there; beside it, it has.
                found = _slope_at(wide, ASIDE)
        return found


def _with_type_of(leaf: Leaf, expected: Leaf) -> Leaf:
    dtype = expected.dtype if leaf.weak and leaf.rounded == expected.rounded else leaf.dtype
    return replace(leaf, weak=expected.weak, dtype=dtype)


def _with_nan_of(leaf: Leaf, expected: Leaf) -> Leaf:
    if not leaf.rounded or leaf.value.shape != expected.value.shape:
        return leaf
    value = np.where(np.isnan(expected.value), expected.value, leaf.value)
    return replace(leaf, value=value)


def _without_nan(leaf: Leaf, expected: Leaf) -> Leaf:
    if not leaf.rounded or leaf.value.shape != expected.value.shape:
        return leaf
    return replace(leaf, value=np.where(np.isnan(leaf.value), expected.value, leaf.value))


def _moved(run: Run, subject: Subject, sample: int) -> Any:
    return run(subject.moved(sample), subject)


def _beside(wide: Subject, step: float) -> Any:
    return along(wide.main(), wide, step)


def _finite(result: Outcome) -> bool:
    """Whether there is no infinity or NaN in a result; true of a failure."""
    return isinstance(result, Failure) or all(np.all(np.isfinite(leaf.value)) for leaf in result)


def refused(result: Outcome) -> bool:
    """Whether an outcome is a refusal to differentiate."""
    return isinstance(result, Failure) and any(word in result.text for word in REFUSALS)


class _Slopes(NamedTuple):
    """Quotients of differences with two steps, and how those to both sides differ."""

    coarse: float
    fine: float
    coarse_gap: float
    fine_gap: float
    size: float


def _slope_at(wide: Subject, aside: float) -> Difference | None:
    derivative = outcome(lambda: backward(wide.main(), wide, aside))
    if isinstance(derivative, Failure) or not np.isfinite(derivative[0].value):
        return None
    slopes = _slopes(wide, aside)
    return None if slopes is None else _slope_difference(float(derivative[0].value), slopes)


def _slopes(wide: Subject, aside: float) -> _Slopes | None:
    values = [outcome(partial(_beside, wide, aside + t * STEP)) for t in (-1, -0.5, 0, 0.5, 1)]
    numbers = [float(_only(value)) for value in values]
    if not np.all(np.isfinite(numbers)):
        return None
    low, lower, middle, upper, high = numbers
    return _Slopes(
        coarse=(high - low) / (2 * STEP),
        fine=(upper - lower) / STEP,
        coarse_gap=abs(high - 2 * middle + low) / STEP,
        fine_gap=abs(upper - 2 * middle + lower) / (0.5 * STEP),
        size=abs(middle),
    )


def _only(value: Outcome) -> Any:
    if isinstance(value, Failure) or not isinstance(value[0], Leaf):
        return np.nan
    return value[0].value


def _slope_difference(derivative: float, slopes: _Slopes) -> Difference | None:
    best = (4 * slopes.fine - slopes.coarse) / 3
    rounding = 2.0**-40 * slopes.size / STEP
    unsure = abs(slopes.fine - slopes.coarse) + rounding
    scale = abs(best) + abs(derivative)
    # At a kink the slopes to both sides do not approach each other when the step gets smaller.
    kink = slopes.fine_gap > max(0.7 * slopes.coarse_gap, 1e-5 * scale + 8 * rounding)
    if kink or unsure > 1e-3 * scale + 1e-6:
        return None
    if abs(best - derivative) <= 4 * unsure + 1e-4 * scale + 1e-6 * (1 + slopes.size):
        return None
    return Difference("value", f"derivative {derivative}, quotient of differences {best}")
