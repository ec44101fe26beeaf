"""`jax.api_util`: what writers of transformations use to flatten functions and arguments.

The functions work on `extend.linear_util.WrappedFun`; `jit` and its kin need none of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any

from . import tree
from .core import DebugInfo
from .extend import linear_util
from .extend.linear_util import WrappedFun
from .transforms.derivatives import shape_aval as shaped_abstractify
from .transforms.flattening import function_label
from .util.messages import described, message

__all__ = [
    "argnums_partial",
    "debug_info",
    "donation_vector",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
    "safe_map",
    "shaped_abstractify",
]


def safe_map(f: Callable[..., Any], /, *sequences: Iterable[Any]) -> list[Any]:
    """A list of `f` applied to the elements of sequences of one length.

    Raises:
        ValueError: the lengths differ.

    Example:
        >>> from morphax.api_util import safe_map
        >>> safe_map(pow, [2, 3], [3, 2])
        [8, 9]
    """
    lists = [list(s) for s in sequences]
    if len({len(elements) for elements in lists}) > 1:
        raise ValueError(
            message(
                "api_util.safe_map",
                given=f"sequences of lengths {[len(elements) for elements in lists]}",
                expected="sequences of one length",
                fix="Cut or extend one of them.",
            )
        )
    return list(map(f, *lists))


Flattened = tuple[WrappedFun, Callable[[], Any]]


def flatten_fun(
    fun: WrappedFun, *gen_static_args: Any, use_eq_store: bool = False, unk_names: bool = False
) -> Flattened:
    """Make a function take the leaves of ``(args, kwargs)``, and return those of its result.

    Args:
        fun: the function.
        *gen_static_args: the structure of ``(args, kwargs)``.
        use_eq_store: whether the function may be called again if its result has the same structure.
        unk_names: whether the names of its arguments no longer hold.

    Returns:
        The function, and one that gives the structure of its result after a call.

    Example:
        >>> from morphax import api_util, tree
        >>> from morphax.extend import linear_util
        >>> fun = linear_util.wrap_init(lambda x, *, y: {"sum": x + y})
        >>> flat, out_tree = api_util.flatten_fun(fun, tree.structure(((1,), {"y": 2})))
        >>> flat.call_wrapped(3, 4), out_tree()
        ([7], PyTreeDef({'sum': *}))
    """
    options = {"use_eq_store": use_eq_store, "unk_names": unk_names}
    made: Flattened = linear_util.transformation_with_aux2(_flat, fun, *gen_static_args, **options)
    return made


def _flat(f: Callable[..., Any], store: Any, in_tree: Any, *leaves: Any) -> list[Any]:
    args, kwargs = in_tree.unflatten(leaves)
    results, out_tree = tree.flatten(f(*args, **kwargs))
    store.store(out_tree)
    return results


def flatten_fun_nokwargs(
    fun: WrappedFun, *gen_static_args: Any, use_eq_store: bool = False, unk_names: bool = False
) -> Flattened:
    """Like `flatten_fun`, for arguments by position, whose structure is that of ``args``."""
    options = {"use_eq_store": use_eq_store, "unk_names": unk_names}
    gen = _flat_by_position
    made: Flattened = linear_util.transformation_with_aux2(gen, fun, *gen_static_args, **options)
    return made


def _flat_by_position(f: Callable[..., Any], store: Any, in_tree: Any, *leaves: Any) -> list[Any]:
    results, out_tree = tree.flatten(f(*in_tree.unflatten(leaves)))
    store.store(out_tree)
    return results


@linear_util.transformation2
def _with_fixed_arguments(
    f: Callable[..., Any], positions: tuple[int, ...], fixed: tuple[Any, ...], *args: Any
) -> Any:
    """Call `f` with `args` at the given positions, and what is fixed at the others."""
    others, given = iter(fixed), dict(zip(positions, args, strict=True))
    total = len(positions) + len(fixed)
    return f(*[given[i] if i in given else next(others) for i in range(total)])


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Fix all arguments but some.

    Args:
        f: the function.
        dyn_argnums: positions of the arguments that stay; negative ones count from the end.
        args: all arguments.
        require_static_args_hashable: whether the others must be hashable.

    Returns:
        The function of the arguments that stay, and these arguments.

    Raises:
        ValueError: an argument to be fixed cannot be hashed, or there is no such position.
    """
    numbers = [dyn_argnums] if isinstance(dyn_argnums, int) else list(dyn_argnums)
    outside = [i for i in numbers if not -len(args) <= i < len(args)]
    if outside:
        raise ValueError(
            message(
                "api_util.argnums_partial, argument dyn_argnums",
                given=f"{outside[0]} for {len(args)} arguments",
                expected=f"a position in [{-len(args)}, {len(args)})",
                fix="Count arguments from 0.",
            )
        )
    kept = tuple(sorted({i % len(args) for i in numbers}))
    fixed = tuple([x for i, x in enumerate(args) if i not in kept])
    if require_static_args_hashable:
        for x in fixed:
            _check_hashable(f, x)
    return _with_fixed_arguments(f, kept, fixed), tuple([args[i] for i in kept])


def _check_hashable(f: WrappedFun, x: Any) -> None:
    try:
        hash(x)
    except TypeError:
        raise ValueError(
            message(
                f"api_util.argnums_partial, function {f.__name__}",
                given=f"a fixed argument {described(x)}",
                expected="values that can be hashed, by which programs are looked up",
                fix="Pass a tuple for a list, or keep the argument dynamic.",
            )
        ) from None


def donation_vector(
    donate_argnums: Iterable[int], donate_argnames: Iterable[str], in_tree: Any, kws: bool = True
) -> tuple[bool, ...]:
    """Whether each leaf of the arguments is donated.

    Args:
        donate_argnums: arguments that are, by position.
        donate_argnames: arguments that are, by name.
        in_tree: the structure of ``(args, kwargs)``, of ``args`` if `kws` is false.
        kws: whether there are keyword arguments.

    Example:
        >>> from morphax import api_util, tree
        >>> in_tree = tree.structure(((1, (2, 3)), {"a": 4}))
        >>> api_util.donation_vector((1,), ("a",), in_tree)
        (False, True, True, True)
    """
    structure = tree.unflatten(in_tree, range(in_tree.num_leaves))
    args, kwargs = structure if kws else (structure, {})
    numbers, names = set(donate_argnums), set(donate_argnames)
    donated = [i in numbers for i, x in enumerate(args) for _ in tree.leaves(x)]
    return tuple(donated + [k in names for k in sorted(kwargs) for _ in tree.leaves(kwargs[k])])


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Positions of donated arguments among those that are not static.

    Raises:
        ValueError: an argument is both.

    Example:
        >>> from morphax.api_util import rebase_donate_argnums
        >>> rebase_donate_argnums((1, 3), (0, 2))
        (0, 1)
    """
    donated, static = list(map(index, donate_argnums)), set(static_argnums)
    both = static.intersection(donated)
    if both:
        raise ValueError(
            message(
                "api_util.rebase_donate_argnums",
                given=f"the arguments {sorted(both)} as donated and as static",
                expected="arguments that are one of the two",
                fix="Static arguments have no memory; do not donate them.",
            )
        )
    return tuple(sorted([i - sum([k < i for k in static]) for i in donated]))


def flatten_axes(
    name: str, treedef: Any, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False
) -> list[Any]:
    """One axis per leaf, from a tree of axes that is a prefix; `None` is an axis too.

    Args:
        name: the argument that names the axes, for error text.
        treedef: the structure with the leaves.
        axis_tree: the axes.
        kws: whether `treedef` is that of ``(args, kwargs)``.
        tupled_args: whether `axis_tree` is one of arguments; for error text, as `kws`.

    Raises:
        ValueError: `axis_tree` is no prefix of `treedef`.

    Example:
        >>> from morphax import api_util, tree
        >>> api_util.flatten_axes("in_axes", tree.structure((1, (2, 3))), (0, None))
        [0, None, None]
    """
    whole = treedef.unflatten([object()] * treedef.num_leaves)
    what = "(args, kwargs)" if kws else "the tuple of arguments" if tupled_args else "the value"
    return tree.broadcast_prefix(
        axis_tree, whole, lambda x: x is None, where=name, prefix_name=name, full_name=what
    )


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    result_paths_thunk: Callable[[], tuple[str, ...]] | None = None,
    sourceinfo: str | None = None,
    signature: inspect.Signature | None = None,
) -> DebugInfo:
    """Whose program it is that a transformation traces, with a name for each array.

    Args:
        traced_for: the transformation.
        fun: the user's function.
        args: its arguments by position.
        kwargs: its arguments by name.
        static_argnums: positions of arguments that are no arrays.
        static_argnames: names of such arguments.
        result_paths_thunk: gives a path for each result.
        sourceinfo: name and place of the function, found out by default.
        signature: its signature, found out by default.

    Example:
        >>> from morphax import api_util
        >>> api_util.debug_info("jit", lambda x, y: x, (1, {"a": 2}), {}).arg_names
        ('x', "y['a']")
    """
    positions = {i % len(args) for i in static_argnums if -len(args) <= i < len(args)}
    static = object()
    shown = [static if i in positions else x for i, x in enumerate(args)]
    named = {k: static if k in static_argnames else x for k, x in kwargs.items()}
    try:
        found = signature or inspect.signature(fun)
        bound: dict[str, Any] = found.bind(*shown, **named).arguments
    except (TypeError, ValueError):
        bound = {f"args[{i}]": x for i, x in enumerate(shown)} | named
    names = [
        name + tree.keystr(path)
        for name, value in bound.items()
        for path, leaf in tree.leaves_with_path(value)
        if leaf is not static
    ]
    paths = None if result_paths_thunk is None else tuple(result_paths_thunk())
    return DebugInfo(traced_for, sourceinfo or function_label(fun), lambda: names, paths)
