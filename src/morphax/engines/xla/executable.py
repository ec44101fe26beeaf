"""Compile a jaxpr and call the result.

A compiled program leaves out what need not be computed: operands that no result depends on are not
passed, and results that are operands or constants are forwarded as they are.  Constants above
64 KB are passed as operands instead of being written into the module's text.

jaxlib checks neither the dtype of an operand nor, for programs on several devices, its size: wrong
operands would give wrong numbers or end the process.  So a plan is only run by who has found it by
the avals of the operands, or has compared them (`Compiled`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import repeat
from typing import Any, NoReturn, final

from ...array import Array
from ...config import current as current_config
from ...core import AutoLayout, Format, Layout, abstract_token
from ...runtime.buffers import wait
from ...runtime.client import (
    extension,
    fusions_are_chosen,
    handler_keywords,
    xla_client,
)
from ...runtime.failures import raise_failure, reported_by_xla
from ...runtime.interruptible import interruptible
from ...runtime.laid_out import Order, laid_out
from ...runtime.layouts import layout_of, place_of
from ...runtime.membership import note_shared_program
from ...runtime.places import Places
from ...runtime.sharding import Sharding
from ...runtime.turns import TurnTaker, finish_last_run
from ...util import host_memory
from ..call_plan import CallPlan
from ..donated import donated_to
from ..engine import Plan
from . import compilation, pending
from .compile_cache.loading import to_bytes
from .compile_cache.programs import load_or_compile
from .compile_options import compile_options
from .donation import Donation
from .library_fusions import may_fuse_reductions
from .lowering import LoweredProgram
from .mlir_context import parsed
from .nesting import check_nesting

# Handing a call to another thread takes about a tenth of this.
_LONG_SECONDS = 1e-3

# The C library keeps freed blocks of up to this many bytes by itself.
_KEPT_BYTES = 32 << 20


@final
class Executable(Plan):
    """A program that XLA has compiled.

    Args:
        program: the program.
        loaded: jaxlib's executable.
        serialized: gives the executable as bytes.  XLA cannot make them of one that was loaded from
            bytes itself: what it gives then cannot be run.
    """

    def __init__(
        self, program: LoweredProgram, loaded: Any, serialized: Callable[[], bytes]
    ) -> None:
        self.program = program
        self.loaded = loaded
        self.serialized = serialized
        self.in_avals = program.in_avals
        self.places = places = _chosen(program, loaded)
        typed = zip(places.chosen_results(), program.out_avals, strict=True)
        self.out_avals = tuple([place.typed(aval) for place, aval in typed])
        _check_orders(program, places, loaded)
        self._takes_all = program.kept_operands == tuple(range(len(program.in_avals)))
        self._taken_places = [places.operands[i] for i in program.kept_operands]
        self._donates = bool(program.donated or program.aliased)
        self._forwards = any(source is not None for source in program.forwarded)
        # XLA runs short programs, and all loops of cheap steps, on the thread that calls them.
        # A program of several processes waits there for the others.
        self._meets_others = note_shared_program(program.name, program.text, places.devices)
        has_loops = "stablehlo.while" in program.text
        self._may_block = self._meets_others or has_loops
        self._was_long = True
        # Each device of the program holds them whole.
        self._constants = [value.buffer_at(places.whole) for value in program.constant_operands]
        chosen = zip(places.chosen_results(), program.forwarded, strict=True)
        computed = [place for place, source in chosen if source is None]
        self._handlers = [
            extension().array_result_handler(
                aval, layout_of(place.plain, len(aval.shape))[0], True, **handler_keywords()
            )
            for aval, place in zip(program.physical_out_avals, computed, strict=True)
        ]
        if places.platform == "cpu" and current_config().keep_freed_memory:
            _keep_freed_if_large(program, loaded)
        shares_threads = len(places.devices) > 1 and places.platform == "cpu"
        self._turns = TurnTaker(loaded, self._handlers, has_loops) if shares_threads else None

    @classmethod
    def compile(
        cls, program: LoweredProgram, overrides: tuple[tuple[str, Any], ...] = ()
    ) -> Executable:
        """Compile the module of `program`, or load what the compile cache has kept.

        The cache keeps programs on one device that call nothing of this process.
        """
        check_nesting(program.name, program.text)
        devices = program.places.devices
        may_fuse = (
            program.fuses_reductions and fusions_are_chosen() and may_fuse_reductions(program.text)
        )
        options = compile_options(*devices, overrides=overrides, fuses_reductions=may_fuse)

        def compiled(module: Any = program.text, **keywords: Any) -> Any:
            return compilation.compile_and_load(
                devices[0].client, module, devices, options, **keywords
            )

        new: list[Any] = []

        def compiled_now() -> Any:
            new.append(compiled())
            return new[-1]

        try:
            if program.callbacks:
                loaded = compiled(parsed(program.text), host_callbacks=list(program.callbacks))
            elif len(devices) > 1 or program.is_local:
                loaded = compiled()
            else:
                loaded = load_or_compile(program.text, options, devices[0], compiled_now)
        except reported_by_xla() as error:
            raise_failure(error, f"compiling the program {program.name}")
        for inspection in program.inspections:
            inspection(program.places.whole)
        was_kept = all([loaded is not one for one in new])
        return cls(
            program, loaded, lambda: to_bytes(compiled() if was_kept else loaded, devices[0])
        )

    def run(self, operands: Sequence[Array], committed: bool) -> list[Array]:
        program = self.program
        donation = Donation(program, operands) if self._donates else None
        if donation is not None:
            operands = donation.given
        if not self._takes_all:
            taken = [operands[i] for i in program.kept_operands]
        else:
            taken = operands  # type: ignore[assignment]
        buffers = [
            buffer if x.place is place and (buffer := x._buffer) is not None else x.buffer_at(place)
            for x, place in zip(taken, self._taken_places, strict=True)
        ]
        buffers += self._constants
        if (execute := self._executing()) is not None:
            outputs = execute(buffers)
        else:
            try:
                outputs = self.loaded.execute_sharded(buffers).consume_with_handlers(self._handlers)
            except reported_by_xla() as error:
                self._fail(error)
        if self._forwards:
            results = self._with_forwarded(outputs, operands, committed)
        else:
            places = self.places.results
            results = list(
                map(Array, self.out_avals, repeat(None), outputs, places, repeat(committed))
            )
        if donation is not None:
            donation.complete()
        return results

    def call_plan(self) -> CallPlan | None:
        program, places = self.program, self.places
        if program.aliased:
            return None
        return CallPlan(
            places.operands,
            places.results,
            None if self._takes_all else tuple(program.kept_operands),
            None if self._takes_all else self._binding(),
            self._constants,
            self.loaded,
            self._handlers,
            self._executing(),
            self.out_avals,
            self._with_forwarded if self._forwards else None,
            self._fail,
            program.donated,
            partial(donated_to, program.info.function),
        )

    def _binding(self) -> tuple[int, ...]:
        """The operands that are taken, or forwarded as results."""
        forwarded = [f.operand for f in self.program.forwarded if f is not None]
        forwarded_operands = [operand for operand in forwarded if operand is not None]
        return tuple(sorted({*self.program.kept_operands, *forwarded_operands}))

    def as_text(self) -> str:
        """The HLO text of the program, as XLA optimised it."""
        return self.loaded.get_hlo_text()

    def cost_analysis(self) -> dict[str, float]:
        return self.loaded.cost_analysis()

    def memory_analysis(self) -> Any:
        return self.loaded.get_compiled_memory_stats()

    def runtime_executable(self) -> Any:
        return self.loaded

    def operand_formats(self) -> list[Format]:
        layouts = [Layout.from_xla(str(x)) for x in self.loaded.get_parameter_layouts()]
        taken = dict(zip(self.program.kept_operands, layouts, strict=False))
        passed_on = {f.operand for f in self.program.forwarded if f is not None}
        return [
            Format(taken.get(i, known.layout), known.sharding)
            if i in taken or i in passed_on
            else Format()
            for i, known in enumerate(super().operand_formats())
        ]

    def result_formats(self) -> list[Format]:
        computed = iter(self.loaded.get_output_layouts())
        each = zip(super().result_formats(), self.program.forwarded, strict=True)
        return [
            Format(Layout.from_xla(str(next(computed))), known.sharding)
            if source is None
            else known
            for known, source in each
        ]

    def _fail(self, error: RuntimeError) -> NoReturn:
        raise_failure(error, f"running the program {self.program.name}")

    def _with_forwarded(
        self, outputs: Sequence[Any], operands: Sequence[Array], committed: bool
    ) -> list[Array]:
        """The results of which some are operands or constants."""
        program, computed = self.program, iter(outputs)
        places = self.places.chosen_results()
        each = zip(self.out_avals, places, program.forwarded, strict=True)
        return [
            Array(aval, None, next(computed), place, committed)
            if source is None
            else source.of(operands).placed(place, committed)
            for aval, place, source in each
        ]

    def _executing(self) -> Callable[[Sequence[Any]], Any] | None:
        """How buffers become outputs, if that takes more than a call of jaxlib."""
        if self.program.callbacks:
            return self._calling_python
        if self._meets_others:
            return self._blocking
        if self._turns is not None:
            return partial(self._in_turn, self._turns)
        return self._blocking if self._may_block else None

    def _in_turn(self, run: TurnTaker, buffers: Sequence[Any]) -> Any:
        try:
            return run(buffers)
        except reported_by_xla() as error:
            self._fail(error)

    def _blocking(self, buffers: Sequence[Any]) -> Any:
        """Run a program that may take any time, such that Ctrl-C leaves it if it does.

        A program whose last run was short is not worth another thread.
        """
        run = partial(self.loaded.execute_sharded, buffers)
        start = time.perf_counter()
        try:
            execution = interruptible(run) if self._was_long else run()
            self._was_long = self._meets_others or time.perf_counter() - start > _LONG_SECONDS
            return execution.consume_with_handlers(self._handlers)
        except reported_by_xla() as error:
            self._fail(error)

    def _calling_python(self, buffers: Sequence[Any]) -> Any:
        """Run a program with callbacks, whose output must not be lost.

        Once its operands are there, XLA computes it on this thread.  Else one of XLA's own threads
        would run the callbacks, and be missing for the programs that these run and wait for.
        """
        platform = self.places.platform
        if platform == "cpu":
            wait(buffers)
        if self._turns is not None:
            finish_last_run()
        try:
            execution = self.loaded.execute_sharded(buffers, with_tokens=True)
            results = execution.consume_with_handlers(self._handlers)
        except reported_by_xla() as error:
            self._fail(error)
        pending.started(self.program.name, execution.consume_token(), platform)
        return results


def _keep_freed_if_large(program: LoweredProgram, loaded: Any) -> None:
    """Let the C library keep freed blocks, if this program needs such as it would not keep."""
    stats = loaded.get_compiled_memory_stats()
    results = [aval.size * aval.dtype.itemsize for aval in program.physical_out_avals]
    if max(stats.temp_size_in_bytes, *results, 0) > _KEPT_BYTES:
        host_memory.keep_freed()


def _chosen(program: LoweredProgram, loaded: Any) -> Places:
    """Where a program runs, with the places that the compiler has chosen."""
    places = _with_chosen_results(program, loaded)
    orders = [place.element_order for place in places.operands]
    is_open = any([isinstance(order, AutoLayout) for order in (*orders, *places.orders)])
    if not places.orders and not is_open:
        return places
    taken = dict(zip(program.kept_operands, loaded.get_parameter_layouts(), strict=False))
    computed = iter(loaded.get_output_layouts())

    def chosen(place: Sharding, order: Order, layout: Any) -> Sharding:
        # Where XLA chooses one order it may choose others too, whatever it was told.
        if is_open and layout is not None:
            found = Layout.from_xla(str(layout))
            order = None if found.is_row_major else found
        return laid_out(place, order if isinstance(order, Layout) else None)

    operands = [chosen(place, orders[i], taken.get(i)) for i, place in enumerate(places.operands)]
    each = zip(places.chosen_results(), program.forwarded, strict=True)
    results = [
        chosen(place, places.order_of(i), next(computed) if source is None else None)
        for i, (place, source) in enumerate(each)
    ]
    return places.at(operands, results)


def _check_orders(program: LoweredProgram, places: Places, loaded: Any) -> None:
    """Operands and results lie in memory as their places say: nobody else would notice."""
    avals: tuple[Any, ...] = (*program.in_avals, *program.out_avals)
    if places.platform == "tpu" or abstract_token in avals:
        # The default may be another order of axes there; of tokens jaxlib knows no layouts.
        return
    constants = [places.whole] * len(program.constant_operands)
    taken = [*[places.operands[i] for i in program.kept_operands], *constants]
    each = zip(places.chosen_results(), program.forwarded, strict=True)
    given = [place for place, source in each if source is None]
    for own, layouts in (
        (taken, loaded.get_parameter_layouts()),
        (given, loaded.get_output_layouts()),
    ):
        for place, layout in zip(own, layouts, strict=False):
            text, order = str(layout), place.element_order
            axes = _axes(text)
            named = order.major_to_minor if isinstance(order, Layout) else ()
            expected = (*named, *range(len(named), len(axes)))
            assert axes == expected, f"XLA lays out as {text} what is to be at {place!r}"


@cache
def _axes(text: str) -> tuple[int, ...]:
    """The axes from major to minor of a layout in XLA's notation."""
    return Layout.from_xla(text).major_to_minor


def _with_chosen_results(program: LoweredProgram, loaded: Any) -> Places:
    places = program.places
    if None not in places.results:
        return places
    avals = program.physical_out_avals
    splits = loaded.get_output_shardings() or [None] * len(avals)
    computed = iter(zip(splits, avals, strict=True))
    mesh, hlo = places.mesh, xla_client().HloSharding
    results = []
    for place, source in zip(places.results, program.forwarded, strict=True):
        if source is None:
            split, aval = next(computed)
            if place is None:
                said = None if split is None else hlo.from_proto(split)
                place = place_of(said, len(aval.shape), places.devices, mesh)
        elif place is None:
            place = places.forwarded_from(source.operand)
        results.append(place)
    return places.with_results(results)
