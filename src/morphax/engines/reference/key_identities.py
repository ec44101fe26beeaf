"""Identities of random keys, and who has used them: the ground of ``jax_debug_key_reuse``.

Each key that is made is an *identity*.  An array of keys has an array of identities beside it, of
its shape, and what moves keys (slices, joins, selections) moves the identities the same way.  A key
is *used* where numbers or other keys are drawn from it.  See docs/design/key-reuse.md.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ...array import Array
from ...core import Operand, Primitive
from ...dtypes import KeyType
from ...errors import KeyReuseError
from ...util.frames import UserFrame
from ...util.messages import message

Identities = np.ndarray[Any, np.dtype[Any]]


class Use(NamedTuple):
    """The place where a key is used.

    Args:
        operation: what uses it.
        path: the user's line, after those of the calls that lead to it.
        steps: the steps of the loops around it.
    """

    operation: str
    path: tuple[UserFrame | None, ...]
    steps: tuple[int, ...] = ()

    @property
    def is_backward(self) -> bool:
        """Whether it repeats, in a backward pass, what the forward pass has done."""
        return any([frame is not None and frame.backward for frame in self.path])

    def repeats(self, other: Use) -> bool:
        """Whether both are one equation of the user's program, which a transformation copied."""
        return (
            self.steps == other.steps
            and len(self.path) == len(other.path)
            and all([a is b and a is not None for a, b in zip(self.path, other.path, strict=True)])
        )

    def __str__(self) -> str:
        lines = [str(frame) for frame in reversed(self.path) if frame is not None]
        places = ", called at ".join(dict.fromkeys(lines)) or "an unknown line"
        return f"{self.operation} at {places}"


@final
class KeyIdentity:
    """One key.

    Args:
        among: the identities of which it is one, where only the compiled program knows which.
    """

    __slots__ = ("among", "joined", "taken", "use")

    def __init__(self, among: Identities | None = None) -> None:
        self.among = among
        self.use: Use | None = None
        # Who used one key among others, of which this may be the one.
        self.taken: tuple[Identities, Use] | None = None
        # Who put this key twice into one array.
        self.joined: Use | None = None

    def earlier_use(self) -> Use | None:
        """Who has used it for sure."""
        if self.use is not None or self.among is None:
            return self.use
        use = None
        for identity in self.among.flat:
            use = identity.use
            if use is None:
                break
        return use


def new_identities(shape: Sequence[int]) -> Identities:
    """Identities of keys that nobody has used."""
    made = np.empty(math.prod(shape), object)
    made[:] = [KeyIdentity() for _ in range(made.size)]
    return made.reshape(tuple(shape))


def is_key(x: Any) -> bool:
    """Whether an operand, a variable or an aval is one of typed keys."""
    return isinstance(getattr(x, "dtype", None), KeyType)


_of_arrays: dict[int, tuple[weakref.ref[Any], Identities]] = {}


def identities_of(array: Array) -> Identities:
    """The identities of an array of keys; new ones if it is met for the first time."""
    found = _of_arrays.get(id(array))
    if found is not None and found[0]() is array:
        return found[1]
    return remember(array, new_identities(array.shape))


def remember(array: Array, identities: Identities) -> Identities:
    """Let an array have these identities, while it lives."""
    number = id(array)

    def forget(reference: weakref.ref[Any]) -> None:
        found = _of_arrays.get(number)
        if found is not None and found[0] is reference:
            del _of_arrays[number]

    _of_arrays[number] = weakref.ref(array, forget), identities
    return identities


class Journal(list[tuple[KeyIdentity, str, Any]]):
    """What was noted of identities, so that it can be taken back."""

    def note(self, identity: KeyIdentity, attribute: str, value: Any) -> None:
        """Set an attribute of an identity."""
        self.append((identity, attribute, getattr(identity, attribute)))
        setattr(identity, attribute, value)

    def undo(self) -> list[tuple[KeyIdentity, str, Any]]:
        """Take all back; what was noted, to be noted again if need be."""
        noted = [(identity, name, getattr(identity, name)) for identity, name, _ in self]
        for identity, name, before in reversed(self):
            setattr(identity, name, before)
        self.clear()
        return noted


def use_keys(identities: Identities, use: Use, journal: Journal) -> None:
    """Note that keys are used.

    Raises:
        KeyReuseError: one has been used before, or is there twice.
    """
    if use.is_backward:
        return
    met: dict[KeyIdentity, int] = {}
    for identity in identities.flat:
        met[identity] = met.get(identity, 0) + 1
    for identity, count in met.items():
        if count > 1 and identity.joined is not None:
            raise _reused(identity.joined, use)
        earlier = identity.earlier_use()
        if earlier is None and identity.taken is not None:
            group, taker = identity.taken
            if all([member in met for member in group.flat]):
                earlier = taker
        if earlier is None:
            journal.note(identity, "use", use)
            _note_taken(identity.among, use, journal)
        elif not use.repeats(earlier):
            raise _reused(earlier, use)


def _note_taken(among: Identities | None, use: Use, journal: Journal) -> None:
    if among is None:
        return
    known = among.flat[0].taken
    if known is None or known[0] is not among:
        for member in among.flat:
            journal.note(member, "taken", (among, use))


def _reused(first: Use, second: Use) -> KeyReuseError:
    return KeyReuseError(
        message(
            "random keys (jax_debug_key_reuse)",
            given=f"one key for two uses: first {first}; then {second}",
            expected="each key used once, since the same key gives the same numbers",
            fix="Split the key and use each part once: key, subkey = jax.random.split(key).  To "
            "repeat numbers on purpose, use jax.random.clone(key).",
        )
    )


def moved(
    primitive: Primitive, inputs: Sequence[Any], params: dict[str, Any], out_avals: Sequence[Any]
) -> list[Identities | None]:
    """The identities of results of an operation that moves keys; `None` for other results.

    The operation is applied to the positions of keys.

    Args:
        primitive: the operation.
        inputs: its operands: identities for arrays of keys, NumPy arrays for others.
        params: its parameters.
        out_avals: of the results.
    """
    pool = joined([x for x in inputs if _holds_identities(x)])
    operands, start = [], 0
    for x in inputs:
        if _holds_identities(x):
            positions = np.arange(start, start + x.size, dtype=np.uint64).reshape(x.shape)
            operands.append(positions)
            start += x.size
        else:
            operands.append(x)
    result = primitive.evaluate(*operands, **params)
    results = result if primitive.multiple_results else [result]
    return [
        _at(np.asarray(positions), pool) if is_key(aval) else None
        for aval, positions in zip(out_avals, results, strict=True)
    ]


def _holds_identities(x: Operand) -> bool:
    return type(x) is np.ndarray and x.dtype == object


def joined(parts: Iterable[Identities]) -> Identities:
    """Identities in one row."""
    rows = [part.reshape(-1) for part in parts]
    return np.concatenate(rows) if rows else np.empty(0, object)


def _at(positions: np.ndarray[Any, Any], pool: Identities) -> Identities:
    """The identities at positions; new ones where a fill value stands."""
    is_inside = positions < pool.size
    if is_inside.all():
        return np.asarray(pool[positions.astype(np.int64)], object)
    made = new_identities(positions.shape)
    made[is_inside] = pool[positions[is_inside].astype(np.int64)]
    return made


def note_joined(parts: Sequence[Identities], use: Use, journal: Journal) -> None:
    """Note which identities stand in several of the arrays that are joined."""
    met: set[KeyIdentity] = set()
    for part in parts:
        own = set(part.flat)
        for identity in own & met:
            journal.note(identity, "joined", use)
        met |= own
