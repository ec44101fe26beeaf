"""`jax.extend.linear_util`: functions with a stack of transformations that run once per call.

A transformation takes the function inside it and the arguments, and may leave something beside its
result, in a `Store`, for whoever made it: the structure of the result, say.  Functions with equal
transformations of one function are equal, which `cache` relies on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial, wraps
from typing import Any, final
from weakref import WeakKeyDictionary

from ..core import DebugInfo
from ..util.memo import on_clear
from ..util.messages import message
from ..util.parameter_keys import key_of
from ..util.records import dataclass

__all__ = [
    "StoreException",
    "WrappedFun",
    "cache",
    "merge_linear_aux",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
]


class StoreException(Exception):
    """A store is read while it is empty, or filled a second time."""


_EMPTY = object()


@final
class Store:
    """A place for one value, which is filled once."""

    __slots__ = ("_accepts_equal", "_value")

    def __init__(self, accepts_equal: bool = False) -> None:
        self._value: Any = _EMPTY
        self._accepts_equal = accepts_equal

    def store(self, val: Any) -> None:
        """Fill the store."""
        if self and not (self._accepts_equal and self._value == val):
            raise StoreException(
                message(
                    "linear_util.Store",
                    given="a second value",
                    expected="one call of the transformed function",
                    fix="Transform the function anew for each call.",
                )
            )
        self._value = val

    @property
    def val(self) -> Any:
        """The value."""
        if not self:
            raise StoreException(
                message(
                    "linear_util.Store",
                    given="no value yet",
                    expected="a call of the transformed function before its auxiliary output",
                    fix="Call the transformed function first.",
                )
            )
        return self._value

    def __bool__(self) -> bool:
        return self._value is not _EMPTY


@final
@dataclass(frozen=True, slots=True, repr=False)
class WrappedFun:
    """A function and its transformations.

    Args:
        f: the function.
        f_transformed: the function as the transformations make it.
        transforms: generators or functions, with their static arguments, the first applied last.
        stores: a `Store` or `None` for each.
        params: keyword arguments of `f`, as pairs.
        in_type: avals of the arguments, where they are fixed.
        debug_info: whose function it is.
    """

    f: Callable[..., Any]
    f_transformed: Callable[..., Any] = field(compare=False)
    transforms: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...]
    stores: tuple[Store | None, ...] = field(compare=False)
    params: tuple[tuple[str, Any], ...]
    in_type: Any
    debug_info: DebugInfo | None = field(compare=False)

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed function>")

    def wrap(
        self, gen: Callable[..., Any], gen_static_args: tuple[Any, ...], out_store: Store | None
    ) -> WrappedFun:
        """The function with one more transformation around it."""
        leading = gen_static_args if out_store is None else (out_store, *gen_static_args)
        return replace(
            self,
            f_transformed=partial(gen, self.f_transformed, *leading),
            transforms=((gen, gen_static_args), *self.transforms),
            stores=(out_store, *self.stores),
        )

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the transformed function."""
        return self.f_transformed(*args, **kwargs)

    def replace_debug_info(self, dbg: DebugInfo) -> WrappedFun:
        """The same with other debug information."""
        return replace(self, debug_info=dbg)

    def with_unknown_names(self) -> WrappedFun:
        """The same without names of arguments and results."""
        info = self.debug_info
        return self if info is None else self.replace_debug_info(info.with_unknown_names())

    def populate_stores(self, stores: tuple[Store | None, ...]) -> None:
        """Fill the stores as those of an equal function that has been called."""
        for own, other in zip(self.stores, stores, strict=True):
            if own is not None and other is not None:
                own.store(other.val)

    def __repr__(self) -> str:
        lines = [
            f"{i:<4}: {getattr(gen, '__name__', gen)}   {static}"
            for i, (gen, static) in enumerate(self.transforms)
        ]
        return "\n".join(["Wrapped function:", *lines, f"Core: {self.__name__}"])


def wrap_init(
    f: Callable[..., Any],
    params: Mapping[str, Any] | None = None,
    *,
    debug_info: DebugInfo | None = None,
) -> WrappedFun:
    """A function without transformations yet.

    Args:
        f: the function.
        params: keyword arguments for each call.
        debug_info: whose function it is, for error text.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend import linear_util as lu
        >>> double = lambda x: 2 * x
        >>> info = jax.api_util.debug_info("double", double, (1,), {})
        >>> lu.wrap_init(double, debug_info=info).call_wrapped(21)
        42
    """
    fixed = dict(params or {})
    called = partial(f, **fixed) if fixed else f
    return WrappedFun(f, called, (), (), tuple(fixed.items()), None, debug_info)


def _curried(transform: Callable[..., Any]) -> Callable[..., Any]:
    """``transform(gen)(fun, …)``, so that it decorates; ``transform(gen, fun, …)`` works too."""

    @wraps(transform)
    def of_generator(gen: Callable[..., Any], *rest: Any, **options: Any) -> Any:
        if rest:
            return transform(gen, *rest, **options)
        return wraps(gen)(partial(transform, gen, **options))

    return of_generator


@_curried
def transformation2(gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any) -> WrappedFun:
    """`fun` transformed by ``gen(f, *static arguments, *args)``, which calls `f` itself."""
    return fun.wrap(gen, gen_static_args, None)


@_curried
def transformation_with_aux2(
    gen: Callable[..., Any],
    fun: WrappedFun,
    *gen_static_args: Any,
    use_eq_store: bool = False,
    unk_names: bool = False,
) -> tuple[WrappedFun, Callable[[], Any]]:
    """Like `transformation2` for ``gen(f, store, *static arguments, *args)``.

    Args:
        gen: the transformation; it puts an auxiliary value into its second argument.
        fun: the function.
        *gen_static_args: passed on to `gen`.
        use_eq_store: whether an equal value may be stored again.
        unk_names: whether the names of arguments no longer hold.

    Returns:
        The transformed function, and a function that returns the auxiliary value of its call.
    """
    out_store = Store(accepts_equal=use_eq_store)
    wrapped = fun.wrap(gen, gen_static_args, out_store)
    return wrapped.with_unknown_names() if unk_names else wrapped, lambda: out_store.val


@_curried
def transformation(gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any) -> WrappedFun:
    """`fun` transformed by a generator.

    ``gen(*static arguments, *args)`` yields the arguments and keyword arguments of the function
    inside, is sent its result, and yields the result of the transformed function.
    """
    return fun.wrap(_Stepped(gen), gen_static_args, None)


@_curried
def transformation_with_aux(
    gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any
) -> tuple[WrappedFun, Callable[[], Any]]:
    """Like `transformation`, for a generator that yields a pair: result and auxiliary value."""
    out_store = Store()
    return fun.wrap(_SteppedWithAux(gen), gen_static_args, out_store), lambda: out_store.val


@final
@dataclass(frozen=True, slots=True)
class _Stepped:
    """A generator as a transformation that calls the function itself."""

    gen: Callable[..., Any]

    def __call__(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        steps = self.gen(*args, **kwargs)
        inner_args, inner_kwargs = next(steps)
        return steps.send(f(*inner_args, **inner_kwargs))


@final
@dataclass(frozen=True, slots=True)
class _SteppedWithAux:
    """A generator with an auxiliary value as such a transformation."""

    gen: Callable[..., Any]

    def __call__(self, f: Callable[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        result, aux = _Stepped(self.gen)(f, *args, **kwargs)
        store.store(aux)
        return result


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """The value of the one auxiliary output that is there, and whether it is the first."""
    found = [(is_first, value) for is_first, value in ((True, aux1), (False, aux2)) if _has(value)]
    if len(found) != 1:
        raise StoreException(
            message(
                "linear_util.merge_linear_aux",
                given=f"{len(found)} auxiliary values",
                expected="exactly one",
                fix="Call one of the two transformed functions.",
            )
        )
    is_first, aux = found[0]
    return is_first, aux()


def _has(aux: Callable[[], Any]) -> bool:
    try:
        aux()
    except StoreException:
        return False
    return True


def cache(
    call: Callable[..., Any], *, explain: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Remember the results of ``call(fun, *args)`` for equal functions and arguments.

    Args:
        call: takes a `WrappedFun` and hashable arguments.
        explain: called for each miss with the function, whether it is unknown, the known results,
            the key, and the seconds that the call took.

    Returns:
        The function, with the attributes `cache_clear` and `evict_function`.
    """
    results: WeakKeyDictionary[Any, dict[Any, tuple[Any, Any]]] = WeakKeyDictionary()

    @wraps(call)
    def remembered(fun: WrappedFun, *args: Any) -> Any:
        known = results.setdefault(fun.f, {})
        is_new, key = not known, key_of((fun.transforms, fun.params, fun.in_type, args))
        if key is None:
            return call(fun, *args)
        if key in known:
            result, stores = known[key]
            fun.populate_stores(stores)
            return result
        start = time.perf_counter()
        result = call(fun, *args)
        if explain is not None:
            explain(fun, is_new, known, key, time.perf_counter() - start)
        known[key] = result, fun.stores
        return result

    remembered.cache_clear = results.clear  # type: ignore[attr-defined]
    remembered.evict_function = lambda f: results.pop(f, None)  # type: ignore[attr-defined]
    on_clear(results.clear)
    return remembered
