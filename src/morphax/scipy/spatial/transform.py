"""`morphax.scipy.spatial.transform`: rotations, and what lies between them.

Both classes are named tuples of arrays, and so pytrees: they go through `jit`, `vmap` and `grad`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ... import random
from ...errors import ShapeError
from ...numpy.operands import promoted_inexact
from ...util.messages import described, message
from ..special._operands import strong
from . import _quaternions as quaternions


def _array(name: str, x: Any, sizes: tuple[int, ...] = ()) -> Any:
    """`x` as a floating array whose last axes have these sizes."""
    where = f"scipy.spatial.transform.{name}"
    found = strong(promoted_inexact(where, jnp.asarray(x))[0])
    if found.aval.dtype.kind == "c":
        raise TypeError(
            message(where, given=f"{found.aval}", expected="real numbers", fix="Give them so.")
        )
    if found.aval.shape[found.aval.ndim - len(sizes) :] != sizes or found.aval.ndim < len(sizes):
        raise ShapeError(
            message(
                where,
                given=f"{found.aval}",
                expected=f"an array (..., {', '.join(map(str, sizes))})",
                fix="The last axes hold one rotation or vector; those before count them.",
            )
        )
    return found


def _check_lengths(name: str, x: Any, y: Any) -> None:
    """That of two sequences, one is as long as the other, or has one member."""
    first, second = x.shape[:-1], y.shape[:-1]
    if first and second and first != second and (1,) not in (first, second):
        raise ShapeError(
            message(
                f"scipy.spatial.transform.{name}",
                given=f"sequences of {first[0]} and {second[0]}",
                expected="sequences of one length, or a single rotation or vector",
                fix="Use jax.vmap for all pairs.",
            )
        )


def _axes(name: str, seq: str) -> tuple[tuple[int, ...], bool]:
    """The numbers of the axes that letters name, and whether these are capitals: intrinsic."""
    lower = seq.lower()
    is_sequence = (
        0 < len(seq) <= 3 and (seq.islower() or seq.isupper()) and set(lower) <= set("xyz")
    )
    if not is_sequence or any(a == b for a, b in pairwise(lower)):
        raise ValueError(
            message(
                f"scipy.spatial.transform.{name}, argument seq",
                given=f"{seq!r}",
                expected="up to three of 'xyz' (fixed axes) or of 'XYZ' (moved), neighbours unlike",
                fix="Write 'ZYX' for yaw, pitch and roll.",
            )
        )
    return tuple(["xyz".index(letter) for letter in lower]), seq.isupper()


class Rotation(NamedTuple):
    """A rotation in space, or a sequence of them, as unit quaternions.

    p * q is the rotation by q, then by p.  Rotations are made by the methods `from_…`, `identity`
    and `random`; one rotation has no length, and a sequence is indexed like an array.

    Args:
        quat: unit quaternions (x, y, z, w), of shape `(4,)` or `(n, 4)`, w being the real part.

    Reference:
        J. Diebel, "Representing attitude: Euler angles, unit quaternions, and rotation vectors",
        2006.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.spatial.transform import Rotation
        >>> turn = Rotation.from_euler("z", 90, degrees=True)
        >>> turn.apply(jnp.array([1.0, 2.0, 0.0])).round(4)
        Array([-2.,  1.,  0.], dtype=float32)
    """

    quat: Any

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """The sequence of all given rotations, single ones and sequences."""
        if isinstance(rotations, Rotation):
            return rotations
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """From angles about axes.

        Args:
            seq: up to three axes, the first being the first that is turned about: of ``"xyz"``,
                which stay, or of ``"XYZ"``, which move along.  Neighbours differ.
            angles: `(k,)` or `(n, k)` for k axes; for one axis also a scalar.
            degrees: whether they are in degrees, and not in radians.

        Raises:
            ValueError: if `seq` or the number of angles is none.
        """
        axes, intrinsic = _axes("Rotation.from_euler", seq)
        angles = jnp.asarray(angles)
        if not angles.aval.ndim and len(axes) == 1:
            angles = angles[None]
        angles = _array("Rotation.from_euler", angles, (len(axes),))
        angles = jnp.deg2rad(angles) if degrees else angles
        if intrinsic:
            axes, angles = axes[::-1], angles[..., ::-1]
        return cls(quaternions.from_euler(angles, axes))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """From orthogonal matrices `(3, 3)` or `(n, 3, 3)` of determinant 1.

        Matrices whose determinant is not positive are no rotations, and become NaN.
        """
        return cls(quaternions.from_matrix(_array("Rotation.from_matrix", matrix, (3, 3))))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """From modified Rodrigues parameters `(3,)` or `(n, 3)`: axes times tan(angle / 4)."""
        return cls(quaternions.from_mrp(_array("Rotation.from_mrp", mrp, (3,))))

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """From quaternions (x, y, z, w), `(4,)` or `(n, 4)`, which are divided by their length."""
        return cls(quaternions.normalized(_array("Rotation.from_quat", quat, (4,))))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """From vectors `(3,)` or `(n, 3)` along the axes, as long as the angles."""
        vectors = _array("Rotation.from_rotvec", rotvec, (3,))
        return cls(quaternions.from_rotvec(jnp.deg2rad(vectors) if degrees else vectors))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The identity, or a sequence of `num` of it."""
        one = jnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Rotations drawn evenly: one, or a sequence of `num`."""
        normals = random.normal(random_key, (4,) if num is None else (num, 4))
        return cls(quaternions.normalized(normals))

    def __getitem__(self, indexer: Any) -> Rotation:
        """The rotations at some places."""
        if self.single:
            raise TypeError(
                message(
                    "scipy.spatial.transform.Rotation",
                    given="an index into a single rotation",
                    expected="a sequence of rotations",
                    fix="The array of its quaternion is the field quat.",
                )
            )
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """The number of rotations."""
        if self.single:
            raise TypeError(
                message(
                    "scipy.spatial.transform.Rotation",
                    given="len() of a single rotation",
                    expected="a sequence of rotations",
                    fix="The property single tells whether it is none.",
                )
            )
        return int(self.quat.shape[0])

    def __mul__(self, other: Any) -> Rotation:
        """The rotation by `other`, then by this one."""
        if not isinstance(other, Rotation):
            return NotImplemented
        _check_lengths("Rotation, product", self.quat, other.quat)
        return Rotation(quaternions.product(self.quat, other.quat))

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors `(3,)` or `(n, 3)` rotated, or rotated back if `inverse`."""
        vectors = _array("Rotation.apply", vectors, (3,))
        _check_lengths("Rotation.apply", self.quat, vectors)
        matrices = quaternions.to_matrix(self.quat)
        matrices = jnp.matrix_transpose(matrices) if inverse else matrices
        return jnp.matvec(matrices, vectors)

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """As angles `(..., 3)` about three axes, which `seq` names as in `from_euler`.

        The first and the third are in [−π, π]; the second in [−π/2, π/2], or in [0, π] if the
        first axis is the third.  At the ends of that the angles are not unique (gimbal lock): the
        third is 0 then.

        Raises:
            ValueError: if `seq` does not name three axes.
        """
        axes, intrinsic = _axes("Rotation.as_euler", seq)
        if len(axes) != 3:
            raise ValueError(
                message(
                    "scipy.spatial.transform.Rotation.as_euler, argument seq",
                    given=f"{seq!r}",
                    expected="three axes",
                    fix="Write 'ZYX' for yaw, pitch and roll.",
                )
            )
        angles = quaternions.to_euler(self.quat, axes, intrinsic=intrinsic)
        return jnp.rad2deg(angles) if degrees else angles

    def as_matrix(self) -> Any:
        """As matrices `(..., 3, 3)`."""
        return quaternions.to_matrix(self.quat)

    def as_mrp(self) -> Any:
        """As modified Rodrigues parameters `(..., 3)` of length ≤ 1: axes times tan(angle / 4)."""
        return quaternions.to_mrp(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """As vectors `(..., 3)` along the axes, as long as the angles, which are at most π."""
        found = quaternions.to_rotvec(self.quat)
        return jnp.rad2deg(found) if degrees else found

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """As quaternions `(..., 4)`: (x, y, z, w), or (w, x, y, z) if `scalar_first`.

        Of a quaternion and its negative, which are one rotation, the canonical one has w > 0, or
        w = 0 and x > 0, and so on.
        """
        found = quaternions.canonical(self.quat) if canonical else self.quat
        return jnp.roll(found, 1, axis=-1) if scalar_first else found

    def inv(self) -> Rotation:
        """The inverse rotations."""
        return Rotation(quaternions.conjugate(self.quat))

    def magnitude(self) -> Any:
        """The angles `(...)`, from 0 to π."""
        return quaternions.magnitude(self.quat)

    def mean(self, weights: Any = None) -> Rotation:
        """The rotation with the least weighted sum of squared chordal distances.

        Args:
            weights: `(n,)`, not negative; all alike by default.
        """
        quat = jnp.atleast_2d(self.quat)
        count = quat.aval.shape[:1]
        given = jnp.ones(count, quat.aval.dtype) if weights is None else jnp.asarray(weights)
        return Rotation(quaternions.mean(quat, _array("Rotation.mean", given, count)))

    @property
    def single(self) -> bool:
        """Whether this is one rotation, and not a sequence."""
        return self.quat.ndim == 1


class Slerp(NamedTuple):
    """Rotations between given ones, each turning evenly into the next: spherical interpolation.

    It is made by `init`, and called with times: a scalar or `(m,)`, for which it returns one
    rotation or a sequence; NaN outside of the times given.

    Args:
        times: `(n,)`, increasing.
        timedelta: `(n - 1,)`, their differences.
        rotations: those at the first n − 1 times.
        rotvecs: `(n - 1, 3)`, the turns from each to the next.

    Reference:
        K. Shoemake, "Animating rotation with quaternion curves", SIGGRAPH 1985.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.spatial.transform import Rotation, Slerp
        >>> ends = Rotation.from_euler("z", jnp.array([[0.0], [1.0]]))
        >>> Slerp.init(jnp.array([0.0, 10.0]), ends)(5.0).magnitude()
        Array(0.5, dtype=float32)
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """Interpolation of n ≥ 2 rotations at increasing times `(n,)`.

        Raises:
            ValueError: if there are not two rotations, or not one for each time.
        """
        where = "scipy.spatial.transform.Slerp.init"
        if not isinstance(rotations, Rotation) or rotations.single or len(rotations) < 2:
            raise ValueError(
                message(
                    f"{where}, argument rotations",
                    given=described(rotations),
                    expected="a sequence of at least two rotations",
                    fix="Rotation.concatenate makes one of single rotations.",
                )
            )
        times = _array("Slerp.init", times)
        if times.aval.shape != (len(rotations),):
            raise ShapeError(
                message(
                    f"{where}, argument times",
                    given=f"{times.aval} for {len(rotations)} rotations",
                    expected="a vector of one time for each",
                    fix="Times are given as an array (n,).",
                )
            )
        first, second = [Rotation(rotations.quat[part]) for part in (slice(-1), slice(1, None))]
        return cls(times, jnp.diff(times), first, (first.inv() * second).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotations at `times`, a scalar or `(m,)`."""
        times = _array("Slerp", times)
        if times.aval.ndim > 1:
            raise ShapeError(
                message(
                    "scipy.spatial.transform.Slerp, argument times",
                    given=f"{times.aval}",
                    expected="a scalar or a vector",
                    fix="Use jax.vmap for more axes.",
                )
            )
        last = self.timedelta.shape[0] - 1
        place = jnp.clip(jnp.searchsorted(self.times, times, side="left") - 1, 0, last)
        share = (times - self.times[place]) / self.timedelta[place]
        is_inside = (times >= self.times[0]) & (times <= self.times[-1])
        share = jnp.where(is_inside & (self.timedelta[place] > 0), share, np.nan)
        turns = Rotation.from_rotvec(self.rotvecs[place] * share[..., None])
        return self.rotations[place] * turns
