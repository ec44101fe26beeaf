"""From a jaxpr to the text of a StableHLO module, and how to call what it becomes.

Before text is written, the program is trimmed: dead equations go, unused operands are not passed,
results that are operands, constants or literals are forwarded instead of computed.  Large constants
are passed as operands, wherever in the program they occur (see `stablehlo.Builder.closed_over`).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from ...array import Array
from ...config import current as current_config
from ...core import (
    AbstractSharding,
    AutoLayout,
    DebugInfo,
    Jaxpr,
    Literal,
    ShapedArray,
    without_references,
)
from ...core.dce import eliminate_dead_code
from ...runtime import sharding as shardings
from ...runtime.client import fusions_are_chosen
from ...runtime.laid_out import laid_out
from ...runtime.named_sharding import named
from ...runtime.places import Places
from ...runtime.sharding import Sharding
from ...util.messages import message
from ...util.records import dataclass
from ..donated import warn_of_unusable
from .annotations import Annotations, annotations_of
from .library_fusions import has_product, may_fuse_reductions
from .literals import physical_aval, physical_dtype
from .mesh_axes import MeshAxes
from .stablehlo import Function, Module, function


@final
@dataclass(frozen=True, slots=True)
class Forwarded:
    """A result that needs no computation: operand number `operand`, or a constant."""

    operand: int | None = None
    constant: Array | None = None

    def of(self, operands: Sequence[Array]) -> Array:
        source = self.constant if self.operand is None else operands[self.operand]
        assert source is not None, "a forwarded result is an operand or a constant"
        return source


@final
@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """A module's text with the recipe for calling it.

    Args:
        name: of the function, for error text.
        text: the StableHLO module.
        in_avals, out_avals: of the program as the user sees it.
        kept_operands: positions of the operands that the module takes.
        constant_operands: constants passed after them.
        physical_out_avals: of the module's own results.
        places: of the program's operands and results, and its devices.
        info: whose program it is.
        forwarded: for each result of the program, `None` if the module computes it.
        callbacks: Python functions that the module calls, by index.
        donated: operands whose memory the module's results may take over.
        aliased: operands that the caller gives away and gets back as one result.
        inspections: Python functions that are to know where the program runs, once compiled.
        partitioners: what divides operations of it among the devices, while it is compiled.
        fuses_reductions: whether it is written for a kernel library that may reduce.
        is_local: whether it calls what other processes cannot know.
    """

    name: str
    text: str
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    kept_operands: tuple[int, ...]
    constant_operands: tuple[Array, ...]
    physical_out_avals: tuple[ShapedArray, ...]
    places: Places
    info: DebugInfo
    forwarded: tuple[Forwarded | None, ...]
    callbacks: tuple[Callable[..., Any], ...]
    donated: tuple[int, ...] = ()
    aliased: tuple[int, ...] = ()
    inspections: tuple[Callable[[Any], Any], ...] = ()
    partitioners: tuple[object, ...] = ()
    fuses_reductions: bool = False
    is_local: bool = False


def lower(
    jaxpr: Jaxpr,
    name: str,
    donated: Sequence[int] = (),
    platform: str = "cpu",
    *,
    places: Places | None = None,
    keep_unused: bool = False,
    locations: bool = False,
) -> LoweredProgram:
    """Write the module that computes `jaxpr`.

    Args:
        jaxpr: the program.
        name: of the module, seen in profiles.
        donated: positions of operands whose memory results may take over.
        platform: where it will run.
        places: of operands and results, each whole at home if left out.
        keep_unused: pass operands that no computed result depends on.
        locations: write the user's source lines too.
    """
    info, jaxpr = jaxpr.debug_info, without_references(jaxpr)
    if places is None:
        places = Places.all_at(shardings.home, len(jaxpr.invars), len(jaxpr.outvars))
    forwarded = _forwarded_results(jaxpr)
    places = places.with_results(_typed_places(jaxpr, places, forwarded))
    trimmed, used = eliminate_dead_code(jaxpr, [f is None for f in forwarded])
    kept = [i for i, is_used in enumerate(used) if is_used or keep_unused]
    entry = trimmed.replace(invars=tuple([trimmed.invars[i] for i in kept]))
    out_avals = tuple([physical_aval(v.aval) for v in entry.outvars])
    # The memory of a forwarded operand goes to the results that it is.
    returned = Counter(f.operand for f in forwarded if f is not None)
    given = set(donated).difference(returned)
    numbers = [i for i, source in enumerate(forwarded) if source is None]
    computed = [places.results[i] for i in numbers]
    orders = [places.order_of(i) for i in numbers]
    taken = [places.operands[i] for i in kept]
    donated_here = [k for k, i in enumerate(kept) if i in given]
    targets = [p and laid_out(p, o) for p, o in zip(computed, orders, strict=True)]
    donations = _donations(name, entry, donated_here, taken, targets)
    annotated = annotations_of(entry, taken, computed, donations, places.mesh, orders)
    new_module = partial(
        Module,
        platform,
        locations=locations,
        meshes=annotated.meshes,
        places=places,
        calls_kernels=True,
    )
    # With a product in it, what is written for the library would be written twice.
    by_loops = fusions_are_chosen() and has_product(entry)
    module = new_module(reduces_in_loops=by_loops)
    text, main = _written(module, entry, name, annotated)
    if module.minds_library and fusions_are_chosen() and not may_fuse_reductions(text):
        by_loops = True
        module = new_module(reduces_in_loops=by_loops)
        text, main = _written(module, entry, name, annotated)
    constants = tuple([_constant(value) for value, _ in main.hoisted])
    _tell_of_large(constants, name)
    return LoweredProgram(
        name=name,
        text=text,
        in_avals=jaxpr.in_avals,
        out_avals=jaxpr.out_avals,
        kept_operands=tuple(kept),
        constant_operands=constants,
        physical_out_avals=out_avals,
        places=places,
        info=info,
        forwarded=tuple(forwarded),
        callbacks=tuple(module.callbacks),
        inspections=tuple(module.inspections),
        partitioners=tuple(module.partitioners),
        donated=tuple([kept[k] for k in donations]),
        aliased=tuple([i for i in donated if returned[i] == 1]),
        fuses_reductions=not by_loops,
        is_local=module.is_local,
    )


def member_module(jaxpr: Jaxpr, axes: MeshAxes, places: Places) -> str:
    """The text of a module that each device of a program runs on its own parts.

    Args:
        jaxpr: of the parts; it may communicate over the axes.
        axes: of the mesh whose members run it.
        places: of the program that it becomes a part of.

    Raises:
        ValueError: if it calls Python, which is known to the whole program only.
    """
    jaxpr = without_references(jaxpr)
    module = Module(places.program_platform, largest_constant=math.inf, places=places)
    # The other operations of the program have channels of their own.
    module.channels = _member_channels
    main = function(
        module,
        "main",
        jaxpr.in_avals,
        lambda builder, *operands: builder.inline(jaxpr, *operands),
        visibility="public ",
        axes=axes,
    )
    if module.callbacks or module.inspections:
        raise ValueError(
            message(
                f"compiling {jaxpr.debug_info.function} for the parts of arrays",
                given="a function that calls Python",
                expected="one that does not, within a program that is divided by hand",
                fix="Call Python outside of it, in the program around.",
            )
        )
    body = "\n".join([*module.functions, main.text])
    return f"module @parts {{\n{body}\n}}\n"


_member_channels = itertools.count(1 << 20)


def _written(
    module: Module, entry: Jaxpr, name: str, annotated: Annotations
) -> tuple[str, Function]:
    """The text of the module, and its entry."""
    main = function(
        module,
        "main",
        entry.in_avals,
        lambda builder, *operands: builder.inline(entry, *operands),
        visibility="public ",
        argument_attributes=annotated.arguments,
        result_attributes=annotated.results,
    )
    meshes = [f"sdy.mesh @{name} = {mesh}" for mesh, name in module.meshes.items()]
    body = "\n".join([*meshes, *module.functions, main.text])
    return f"module @{module.fresh_name('jit_' + name)} {{\n{body}\n}}\n", main


def _typed_places(
    jaxpr: Jaxpr, places: Places, forwarded: Sequence[Forwarded | None]
) -> list[Sharding | None]:
    """The places of results, of which types may say what is open so far.

    Over a mesh whose axes are all explicit nothing stays open but what an operand decides.  Where
    an operand has such a type, its place is taken, for one spec may be written in several ways:
    so a step that is applied again and again is compiled once, and may take over memory.
    """
    mesh = places.mesh
    if mesh is None or not mesh.explicit_axes:
        return list(places.results)
    found: list[Sharding | None] = []
    known: dict[AbstractSharding, Sharding] = {}
    for own, aval in zip(places.operands, jaxpr.in_avals, strict=True):
        if aval.is_on_mesh and aval.split is not None and own.own_memory is own:
            known.setdefault(aval.split, own)
    for place, aval, source in zip(places.results, jaxpr.out_avals, forwarded, strict=True):
        split = aval.split or AbstractSharding(mesh.abstract_mesh, ((),) * aval.ndim)
        is_open = place is None and (source is None or source.operand is None)
        if is_open and (split.mesh.are_all_axes_explicit or split.unreduced):
            place = known.get(split) or named(split, mesh.along(split.mesh))
        found.append(place)
    return found


def _donations(
    name: str,
    entry: Jaxpr,
    donated: Sequence[int],
    operands: Sequence[Sharding],
    results: Sequence[Sharding | None],
) -> dict[int, str]:
    """Attributes of donated operands: the result they become, else that XLA may choose one.

    A result takes over the memory of an operand at the same place only, which it may be if the
    compiler chooses the place; that elements lie in another order there is for the compiler to see.
    """
    positions_of: dict[tuple[ShapedArray, Sharding | None], list[int]] = {}
    for i, var in reversed(list(enumerate(entry.outvars))):
        positions_of.setdefault((physical_aval(var.aval), results[i]), []).append(i)
    attributes = {}
    unusable = []
    for position in donated:
        aval, place = physical_aval(entry.invars[position].aval), operands[position]
        if isinstance(place.element_order, AutoLayout):
            unusable.append(aval.str_short())
        elif positions_of.get((aval, place)):
            attributes[position] = f"tf.aliasing_output = {positions_of[aval, place].pop()} : i32"
        elif any(
            free
            and (where and where.plain) in (place.plain, None)
            and _bytes(other) == _bytes(aval)
            for (other, where), free in positions_of.items()
        ):
            attributes[position] = "jax.buffer_donor = true"
        else:
            unusable.append(aval.str_short())
    warn_of_unusable(name, unusable)
    return attributes


def _forwarded_results(jaxpr: Jaxpr) -> list[Forwarded | None]:
    known = {v: Forwarded(operand=i) for i, v in enumerate(jaxpr.invars)}
    results = set(jaxpr.outvars)
    for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        if var in results:
            known[var] = Forwarded(constant=_constant(value))
    return [_literal_result(a) if type(a) is Literal else known.get(a) for a in jaxpr.outvars]


def _literal_result(literal: Literal) -> Forwarded:
    host = np.asarray(literal.val, physical_dtype(literal.aval.dtype))
    return Forwarded(constant=Array(literal.aval, host))


def _constant(value: Any) -> Array:
    """A constant as an array of its own, which nobody else can delete or donate."""
    return Array(value.aval, value.to_host()) if type(value) is Array else Array.from_host(value)


def _tell_of_large(constants: Sequence[Array], name: str) -> None:
    """Warn where a function has closed over more numbers than its user may know of."""
    total = sum([_bytes(value.aval) for value in constants])
    limit = current_config().captured_constants_warn_bytes
    if not constants or not 0 <= limit <= total:
        return
    largest = sorted(constants, key=lambda value: _bytes(value.aval), reverse=True)[:3]
    text = message(
        f"jit of {name}",
        given=f"a function that has closed over {total:,} bytes of arrays, "
        f"the largest of which are {', '.join([value.aval.str_short() for value in largest])}",
        expected=f"less than {limit:,} bytes (jax_captured_constants_warn_bytes)",
        fix="Pass them as arguments, or set the option to -1 if they are meant to be constants.",
    )
    warnings.warn(text, UserWarning, stacklevel=2)


def _bytes(aval: ShapedArray) -> int:
    return int(aval.size * aval.dtype.itemsize)
