"""Operations that draw numbers by programs with loops.

How many steps a sampler by rejection takes the numbers decide.  The program says what the numbers
are, and is what such an operation becomes.  The common ones, of float32 and mostly float64 too from
keys of threefry, gamma numbers of narrow formats and from keys of rbg as well, are drawn in
`native/`, eagerly and by compiled programs, for to compile the program takes half a second and a
loop of it draws a number in microseconds; of others eager mode compiles the program.  The order of
streams (``jax_threefry_partitionable``) is a parameter of the operation, for its program may be
written when the configuration is another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import lax
from ..array import Array
from ..config import current as current_config
from ..config import override
from ..control.jit.jit import jit
from ..control.loops.scans import scan
from ..core import AxisFlow, BatchAxes, Jaxpr, Primitive, ShapedArray, aval_of, like, not_linear
from ..core.staging import stage_closed
from ..engines import loops
from ..engines.xla.draw_calls import call_draws, may_call_draws
from ..engines.xla.stablehlo import Builder, Value
from ..errors import ShapeError
from ..lax.ground.kinds import FLOATING, KEY
from ..lax.ground.linear_structure import moved_axis
from ..lax.random.random_bits import threefry_prng_impl
from ..util.compiled import part
from ..util.messages import message
from ._generators import generator_of, unsafe_rbg_prng_impl

native = part("random")
"""The functions that draw in place; where it is None, the program does."""

# Of more numbers XLA gives parts to its threads, if it calls native code.
_MOST_OF_ONE_THREAD = 1 << 12

_THREEFRY_KEY = threefry_prng_impl.key_dtype


def any_of(flags: Any) -> Any:
    """Whether any of an array of booleans is true."""
    return lax.reduce_or(flags, range(aval_of(flags).ndim))


def for_keys(function: Callable[..., Any], keys: Any, *operands: Any) -> Any:
    """`function` of arrays of keys (...) and operands (..., *rest), which gives one like the last.

    Under `vmap` one stream gives the bits of all keys of a generator that is not threefry, that of
    the first.  Once the first has its number this stream stands still, and what is rejected would
    be rejected for ever: such keys are gone through one by one, as JAX does it for gamma numbers.
    """
    shape = aval_of(keys).shape
    if aval_of(keys).dtype is _THREEFRY_KEY or not shape:
        return function(keys, *operands)
    flat = [lax.collapse(x, 0, len(shape)) for x in (keys, *operands)]
    _, drawn = scan(lambda _, step: (None, function(*step)), None, flat)
    return lax.reshape(drawn, aval_of(operands[-1]).shape)


class LoopDraw(Primitive):
    """Numbers of floating parameters (..., *rest), one shape for all, and of keys (...)."""

    lowers_key_data = True
    key_use = "draws"
    transpose = not_linear()

    native_name: ClassVar[str]
    """Of the function that draws in place."""

    native_dtypes: ClassVar[tuple[type[np.floating[Any]], ...]] = (np.float32, np.float64)
    """Those that it draws."""

    native_generators: ClassVar[tuple[str, ...]] = (threefry_prng_impl.name,)
    """Of the keys that it draws by."""

    def method(self, **params: Any) -> str:
        """Which numbers native code is to draw; see `engines/xla/draw_calls.py`."""
        return self.name.removeprefix("random_")

    def native_flags(self, keys: Any, **params: Any) -> tuple[Any, ...]:
        """What native code takes besides arrays."""
        return tuple(params.values())

    def draw(self, keys: Any, *parameters: Any, **params: Any) -> Any:
        """The program: the numbers, of the shape of each parameter."""
        raise AssertionError(f"{self.name} defines draw")

    def drawn(self, keys: Any, *parameters: Any, **params: Any) -> Any:
        """The numbers, of streams in the order that the configuration asks for."""
        if not current_config().threefry_partitionable:
            params["partitionable"] = False
        return self.bind(keys, *parameters, **params)

    def abstract_eval(self, keys: Any, *avals: Any, **params: Any) -> ShapedArray:
        KEY.check(self.name, 0, keys)
        for position, aval in enumerate(avals, 1):
            FLOATING.check(self.name, position, aval)
        shapes = {aval.shape for aval in avals}
        if keys.shape != avals[0].shape[: keys.ndim] or len(shapes) > 1:
            raise ShapeError(
                message(
                    self.name,
                    given=f"keys of shape {keys.shape}, parameters of shape "
                    f"{' and '.join(map(str, sorted(shapes)))}",
                    expected="one shape for all parameters, and keys for its leading axes",
                    fix="Pass one key, or broadcast the parameters.",
                )
            )
        return like(avals[0])

    def decides_by_roundings(self, *avals: Any, **params: Any) -> bool:
        # Candidates are accepted or refused; native code does so with XLA's roundings.
        return not self._is_drawn_by_loops(*avals, **params)

    def is_much_for_loops(self, *avals: Any, **params: Any) -> bool:
        return bool(avals[1].size > _MOST_OF_ONE_THREAD)

    def axis_flow(self, keys: Any, *avals: Any, **params: Any) -> AxisFlow:
        axes = tuple(range(avals[0].ndim))
        return AxisFlow((axes[: keys.ndim], *[axes for _ in avals]), (axes,))

    def kernel(self, keys: Any, *avals: Any, **params: Any) -> Callable[..., Any]:
        if self._is_drawn_in_place(keys, *avals, **params):
            dtype = avals[0].dtype
            name = self.native_name if dtype.itemsize > 2 else f"{self.native_name}_of_{dtype.name}"
            function, flags = getattr(native, name), self.native_flags(keys, **params)
            return _drawn_in_place(function, flags, keys, avals[0])
        abstract = [aval.update(sharding=None) for aval in (keys, *avals)]

        def draw(*numbers: Any) -> Any:
            return _compiled(self, tuple(params.items()), *map(Array, abstract, numbers)).to_host()

        return draw

    def evaluate(self, keys: Any, *parameters: Any, **params: Any) -> Any:
        avals = like(shape=keys.shape, dtype=_THREEFRY_KEY), *map(aval_of, parameters)
        return self.kernel(*avals, **params)(keys, *parameters)

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        avals = [v.aval for v in operands]
        if may_call_draws(b, out) and self._is_drawn_in_place(*avals, **params):
            generator = generator_of(avals[0].dtype).name
            return call_draws(b, self.method(**params), generator, out, *operands)
        (drawn,) = b.inline(self._program(avals, params), *operands)
        return drawn

    def to_loops(
        self, b: loops.Builder, out: Any, *operands: loops.Value, **params: Any
    ) -> loops.Value:
        if b.is_for_this_process and self._is_drawn_by_loops(*b.operand_avals, **params):
            if out.is_static and out.size:
                return loops.draws.drawn(b, self.method(**params), out, *operands)
        keys, *parameters = operands
        avals = [like(shape=x.shape, dtype=x.dtype) for x in parameters]
        program = self._program([like(shape=keys.shape, dtype=_THREEFRY_KEY), *avals], params)
        (drawn,) = b.inline(program, *operands, places=b.places)
        return drawn

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        moved = [
            lax.broadcast(x, (axes.size,)) if dim is None else moved_axis(x, dim, 0)
            for x, dim in zip(operands, dims, strict=True)
        ]
        return self.bind(*moved, **params), 0

    def _is_drawn_in_place(
        self, keys: Any, *avals: Any, partitionable: bool = True, **params: Any
    ) -> bool:
        """Whether there is native code for numbers of these types."""
        if native is None or not partitionable:
            return False
        generator = generator_of(keys.dtype)
        if generator.key_dtype is not keys.dtype or generator.name not in self.native_generators:
            return False
        if generator is unsafe_rbg_prng_impl and keys.shape:
            # A batch of its keys is split by one stream.
            return False
        dtypes = {aval.dtype for aval in avals}
        return len(dtypes) == 1 and dtypes.pop() in self.native_dtypes

    def _is_drawn_by_loops(self, keys: Any, *avals: Any, **params: Any) -> bool:
        """Whether loop programs call that code: they hold no keys of several words."""
        return keys.dtype is _THREEFRY_KEY and self._is_drawn_in_place(keys, *avals, **params)

    def _program(self, avals: Sequence[Any], params: dict[str, Any]) -> Jaxpr:
        def program(*operands: Any) -> list[Any]:
            return [_in_order(self, operands, **params)]

        return stage_closed(program, avals)


@partial(jit, static_argnums=(0, 1))
def _compiled(primitive: LoopDraw, params: tuple[tuple[str, Any], ...], *operands: Any) -> Any:
    return _in_order(primitive, operands, **dict(params))


def _in_order(
    primitive: LoopDraw, operands: Sequence[Any], *, partitionable: bool = True, **params: Any
) -> Any:
    with override(threefry_partitionable=partitionable):
        return primitive.draw(*operands, **params)


def _drawn_in_place(
    function: Any, flags: tuple[Any, ...], keys: Any, number: Any
) -> Callable[..., Any]:
    """What draws numbers of a shape and dtype by native code, which sees narrow ones as words."""
    shape, dtype = number.shape, number.dtype
    rows = max(keys.size, 1), number.size // max(keys.size, 1)
    words = _words if keys.dtype is _THREEFRY_KEY else _wide_words

    def draw(keys: Any, *parameters: Any) -> Any:
        out = np.empty(rows, dtype)
        function(words(keys), *[x.reshape(rows) for x in parameters], out, *flags)
        return out.reshape(shape)

    def draw_narrow(keys: Any, *parameters: Any) -> Any:
        out = np.empty(rows, np.uint16)
        function(words(keys), *[x.reshape(rows).view(np.uint16) for x in parameters], out, *flags)
        return out.view(dtype).reshape(shape)

    return draw if dtype.itemsize > 2 else draw_narrow


def _words(keys: Any) -> Any:
    return keys.reshape(-1)


def _wide_words(keys: Any) -> Any:
    """The words of opaque keys, two in each number."""
    return np.ascontiguousarray(keys).reshape(-1).view(np.uint64)
