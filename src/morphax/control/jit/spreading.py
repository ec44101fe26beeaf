"""Programs that are asked to run on several devices: by shardings given to `jit`, or inside it.

A program runs on the devices of its committed operands.  It may also say itself where it runs: by
`in_shardings`, `out_shardings` and constraints within.  All that it says must be of the same
devices, in the same order, and of those of its committed operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, final
from weakref import WeakKeyDictionary

from ... import tree
from ...array import Array
from ...core import (
    AbstractMesh,
    AbstractSharding,
    Atom,
    Format,
    Jaxpr,
    Layout,
    ShapeDtypeStruct,
    aval_of,
    held_for_a_while,
    jaxprs_in_params,
)
from ...core.partition_spec import PartitionSpec
from ...lax.shape.resharding import resharded
from ...lax.shape.sharding_constraint import sharding_constraint_p, with_sharding_constraint
from ...runtime.current_mesh import (
    get_abstract_mesh,
    mesh_with_axes,
    sharding_of_spec,
    with_devices,
)
from ...runtime.laid_out import Order
from ...runtime.named_sharding import NamedSharding, named
from ...runtime.places import Places, whole_on_devices_of
from ...runtime.sharding import Sharding, SingleDeviceSharding
from ...transforms.flattening import FlatFunction
from ...tree import flatten_axes
from ...util.messages import described, message
from ...util.records import dataclass
from ..plans import binding_operands

Wanted = tuple[Sharding | None, ...]


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """Where a program says that it runs.

    Args:
        whole: the place of what all its devices hold whole.
        operands, results: the places asked for, `None` where it says nothing.
    """

    whole: Sharding
    operands: Wanted
    results: Wanted

    def places(self, operands: Sequence[Any], name: Callable[[int], str], where: str) -> Places:
        """The places of a call; operands that are bound to the devices stay as they lie.

        Args:
            operands: arrays, or what stands for them.
            name: names the operand at a position, for error text.
            where: what is called, likewise.

        Raises:
            ValueError: if an operand is committed to another place than the one asked for.
        """
        devices = self.whole.device_assignment
        taken: list[Sharding | None] = []
        for i, (x, wanted) in enumerate(zip(operands, self.operands, strict=True)):
            lies = _committed_place(x)
            shape = x.shape
            if wanted is not None:
                wanted.shard_shape(shape)
            elif lies is not None:
                wanted = lies
            fits = lies is None or lies is wanted or _alike(lies, wanted, len(shape))
            if not fits or (wanted is not None and wanted.device_assignment != devices):
                expected = self.whole if wanted is lies else wanted
                raise ValueError(
                    message(
                        f"{where}, argument {name(i)}",
                        given=f"an array that is committed to {lies!r}",
                        expected=f"one that lies as in_shardings says, or on the devices that the "
                        f"program names: {expected!r}",
                        fix="Move it there with jax.device_put, or leave its sharding open (None).",
                    )
                )
            taken.append(wanted)
        return Places.on_devices_of(self.whole, taken, self.results)


def _committed_place(x: Any) -> Sharding | None:
    if type(x) is Array:
        return x.place.own_memory if x.committed else None
    sharding = x.format.sharding if isinstance(x, ShapeDtypeStruct) else None
    return sharding if isinstance(sharding, Sharding) else None


def _alike(place: Sharding, wanted: Sharding | None, ndim: int) -> bool:
    return wanted is not None and (
        place.device_assignment == wanted.device_assignment and place.is_equivalent_to(wanted, ndim)
    )


def spread_of(jaxpr: Jaxpr, operands: Wanted, results: Wanted, where: str) -> Spread | None:
    """What a program says of the devices that it runs on, if it says anything.

    Args:
        jaxpr: the program.
        operands, results: the shardings asked for, `None` where there is none.
        where: whose program it is, for error text.

    Raises:
        ValueError: if it names different devices.
    """
    asked = (*operands, *results, *constraints_in(jaxpr))
    said = [s for s in asked if s is not None and not _has_no_devices(s)]
    several = [s for s in said if not _is_of_one(s)]
    if not several:
        return None
    first = several[0]
    for other in said:
        if other.device_assignment != first.device_assignment:
            raise ValueError(
                message(
                    where,
                    given=f"shardings over different devices: {first!r} and {other!r}",
                    expected="shardings over the same devices, in the same order",
                    fix="Make all of them over one mesh.",
                )
            )
    return Spread(whole_on_devices_of(first), operands, results)


def _has_no_devices(sharding: Sharding) -> bool:
    """Whether it is over a mesh without devices, for programs that are only traced."""
    return isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh)


def _is_of_one(sharding: Sharding) -> bool:
    """Whether a place is but a device, which `jit` sees to otherwise."""
    return type(sharding) is SingleDeviceSharding


_constraints_of: WeakKeyDictionary[Jaxpr, tuple[Sharding, ...]] = WeakKeyDictionary()


def constraints_in(jaxpr: Jaxpr) -> tuple[Sharding, ...]:
    """The shardings by which operations in a program say where it runs."""
    known = _constraints_of.get(jaxpr)
    if known is not None:
        return known
    found: dict[Sharding, None] = dict.fromkeys(_types_in(jaxpr))
    for eqn in jaxpr.eqns:
        if places := eqn.primitive.runs_on(**eqn.params):
            found.update(dict.fromkeys(places))
        if eqn.params:
            for inner in jaxprs_in_params(eqn.params):
                found.update(dict.fromkeys(constraints_in(inner)))
    return _constraints_of.setdefault(jaxpr, tuple(found))


def _types_in(jaxpr: Jaxpr) -> Iterator[Sharding]:
    """What types in a program say of the devices it runs on, if those of its operands do not."""
    avals: tuple[Any, ...] = jaxpr.in_avals
    if any([aval.split is not None for aval in avals]):
        if any([avals[i].split is not None for i in binding_operands(jaxpr, False)]):
            return
    # Where operands say nothing of a mesh, an operation says it: `reshard`, or zeros of a type.
    made: list[Any] = []
    if _splits_of([v for e in jaxpr.eqns for v in e.outvars]):
        typed = [e for e in jaxpr.eqns if not _splits_of(e.invars)]
        made = [split for e in typed for split in _splits_of(e.outvars)]
    for split in (*_splits_of(jaxpr.constvars), *made):
        mesh = mesh_with_axes(split.mesh)
        if mesh is not None and mesh.size > 1:
            yield named(AbstractSharding(split.mesh, ((),) * len(split.spec)), mesh)


def _splits_of(atoms: Sequence[Atom]) -> list[Any]:
    """How atoms are divided, as their types say; those that are not left out."""
    avals: list[Any] = [a.aval for a in atoms]
    return [split for a in avals if (split := getattr(a, "split", None)) is not None]


@held_for_a_while
@final
class ShardedFunction:
    """A function of leaves whose arguments and results lie as shardings say.

    After a call, `operands` and `results` are the shardings of its leaves, and `orders` says how
    the elements of both lie in memory.

    Args:
        function: of leaves.
        shardings: those of the arguments, a prefix of their tuple; and of the result.
        where: whose they are, for error text.

    Raises:
        ValueError: if they are no prefixes, or there are arguments by name.
    """

    __slots__ = (
        *("_function", "_in_shardings", "_out_shardings", "_where"),
        *("operands", "orders", "results"),
    )

    def __init__(
        self, function: FlatFunction, shardings: tuple[ShardingTree, ShardingTree], where: str
    ) -> None:
        self._function = function
        self._out_shardings = shardings[1].resolved("out_shardings")
        self._where = where
        self.results: Wanted = ()
        self.orders: tuple[Orders, Orders] = ((), ())
        args, kwargs = function.in_tree.children()
        in_shardings = shardings[0].resolved("in_shardings")
        if in_shardings is not None and kwargs.num_leaves:
            raise ValueError(
                message(
                    where,
                    given="arguments by name, and in_shardings",
                    expected="arguments by position: in_shardings are by position",
                    fix="Pass all arguments by position, or leave in_shardings out.",
                )
            )
        wanted = self._flat(args, in_shardings, "in_shardings")
        self._in_shardings = (*wanted, *[None] * kwargs.num_leaves)
        self.operands: Wanted = ()

    def __call__(self, *leaves: Any) -> list[Any]:
        where = f"{self._where}, argument in_shardings"
        self.operands, taken = _apart(self._in_shardings, leaves, where)
        for i, (x, sharding) in enumerate(zip(leaves, self.operands, strict=True)):
            self._check_type(i, x, sharding)
        given = [_constrained(x, s) for x, s in zip(leaves, self.operands, strict=True)]
        results = self._function(*given)
        wanted = self._flat(self._function.out_tree, self._out_shardings, "out_shardings")
        where = f"{self._where}, argument out_shardings"
        self.results, given_back = _apart(wanted, results, where)
        self.orders = taken, given_back
        return [_constrained(x, s) for x, s in zip(results, self.results, strict=True)]

    def _check_type(self, position: int, x: Any, sharding: Sharding | None) -> None:
        """Raise `ValueError` if the type of an argument says another split than is asked for."""
        split = aval_of(x).split
        if split is None or not isinstance(sharding, NamedSharding):
            return
        if split == sharding.abstract(len(split.spec)):
            return
        raise ValueError(
            message(
                f"{self._where}, argument in_shardings",
                given=f"{sharding.spec} for argument number {position}, {aval_of(x)}",
                expected="what the type of the argument says",
                fix="Split it anew with jax.sharding.reshard before the call, or within.",
            )
        )

    def _flat(self, structure: tree.PyTreeDef, shardings: Any, argument: str) -> Wanted:
        return tuple(flatten_axes(self._where, structure, shardings, argument))


Orders = tuple[Order, ...]


def _apart(wanted: Sequence[Any], leaves: Sequence[Any], where: str) -> tuple[Wanted, Orders]:
    """Shardings, and orders of elements in memory, of what is asked for of leaves."""
    shardings: list[Any] = []
    orders: list[Order] = []
    for asked, x in zip(wanted, leaves, strict=True):
        is_format, ndim = isinstance(asked, Format), aval_of(x).ndim
        shardings.append(asked.sharding if is_format else asked)
        order = asked.order(where, ndim) if is_format else None
        # Row by row may be asked for, too, of what would lie otherwise.
        is_asked = is_format and asked.layout is not None
        orders.append(order or (Layout.row_major(ndim) if is_asked else None))
    return tuple(shardings), tuple(orders)


def _constrained(x: Any, sharding: Sharding | None) -> Any:
    if sharding is None or _is_of_one(sharding):
        return x
    if isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes:
        x = resharded(x, sharding.abstract(aval_of(x).ndim))
        if sharding.mesh.are_all_axes_explicit:
            return x
        return sharding_constraint_p.bind(
            x,
            sharding=sharding,
            layout=None,
            context_mesh=get_abstract_mesh(),
            unconstrained_dims=frozenset(),
        )
    return with_sharding_constraint(x, sharding)


@final
@dataclass(frozen=True, slots=True)
class ShardingTree:
    """A tree of shardings, specs, formats and `None`, as an option that can be compared."""

    leaves: tuple[Sharding | PartitionSpec | Format | None, ...]
    structure: tree.PyTreeDef

    @classmethod
    def of(cls, shardings: Any, argument: str) -> ShardingTree:
        """The tree, checked; `TypeError` if a leaf is something else."""
        where = f"jit, argument {argument}"
        if argument == "in_shardings" and type(shardings) is list:
            # Of the arguments, which are a tuple.
            shardings = tuple(shardings)
        given, structure = tree.flatten(shardings, is_leaf=lambda x: x is None)
        leaves = [_plain_format(x, where) if isinstance(x, Format) else x for x in given]
        for leaf in leaves:
            if leaf is not None and not isinstance(leaf, (Sharding, PartitionSpec, Format)):
                raise TypeError(
                    message(
                        where,
                        given=described(leaf),
                        expected="a tree of shardings, of jax.P, and of None",
                        fix="Pass jax.NamedSharding(mesh, jax.P('x')), for instance.",
                    )
                )
        return cls(tuple(leaves), structure)

    @property
    def shardings(self) -> list[Any]:
        """What the leaves say of devices."""
        return [x.sharding if isinstance(x, Format) else x for x in self.leaves]

    @property
    def has_formats(self) -> bool:
        """Whether a leaf says how elements lie in memory."""
        return any([isinstance(x, Format) for x in self.leaves])

    def resolved(self, argument: str) -> Any:
        """The tree, with specs taken over the current mesh; `RuntimeError` if there is none."""
        where = f"jit, argument {argument}"
        return self.structure.unflatten(
            [
                sharding_of_spec(s, where, RuntimeError)
                if isinstance(s, PartitionSpec)
                else with_devices(s)
                for s in self.leaves
            ]
        )


def _plain_format(given: Format, where: str) -> Sharding | Format | None:
    """A format, or its sharding if that is all that it says."""
    given.order(where)
    return given.sharding if given.layout is None else given
