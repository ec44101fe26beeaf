"""Rotations against SciPy at special points; the tables of `tests/cases` have ordinary ones."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.spatial.transform

import morphax as jax
from morphax import enable_x64
from morphax.scipy.spatial.transform import Rotation, Slerp

Reference = scipy.spatial.transform.Rotation
RNG = np.random.default_rng(0)
EVEN = RNG.normal(size=(30, 4))
SPECIAL = np.array(
    [q for q in itertools.product((-1.0, 0.0, 1.0), repeat=4) if any(q)]
    + [[1e-9, 0, 0, 1], [0, 1e-5, -1e-6, -1], [1, 0, 0, 1e-9], [1, 2, 3, -1e-12]]
)
SEQUENCES = [
    "".join(letters)
    for alphabet in ("xyz", "XYZ")
    for letters in itertools.product(alphabet, repeat=3)
    if letters[0] != letters[1] != letters[2]
]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


@pytest.mark.parametrize("q", [EVEN, SPECIAL], ids=["even", "special"])
def test_forms_agree_with_scipy(q: Any) -> None:
    ours, theirs = Rotation.from_quat(q), Reference.from_quat(q)
    for form, options in (
        ("matrix", {}),
        ("mrp", {}),
        ("rotvec", {"degrees": True}),
        ("quat", {"canonical": True}),
        ("quat", {"scalar_first": True}),
    ):
        found = getattr(ours, f"as_{form}")(**options)
        # A half turn about an axis is one about its opposite.
        expected = getattr(theirs, f"as_{form}")(**options)
        half = np.abs(theirs.magnitude() - np.pi) < 1e-9 if form in ("mrp", "rotvec") else False
        both = np.minimum(
            np.abs(found - expected).T, np.where(half, 0, np.inf) + np.abs(found + expected).T
        )
        np.testing.assert_allclose(both, 0, atol=1e-12)
    for form in ("matrix", "rotvec", "mrp"):
        again = getattr(Rotation, f"from_{form}")(getattr(ours, f"as_{form}")())
        np.testing.assert_allclose(again.as_matrix(), theirs.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(ours.magnitude(), theirs.magnitude(), atol=1e-12)
    np.testing.assert_allclose(ours.inv().as_matrix(), theirs.inv().as_matrix(), atol=1e-15)


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("seq", SEQUENCES)
def test_euler_angles_agree_with_scipy(seq: str) -> None:
    angles = RNG.uniform(-4, 4, (20, 3))
    locked = RNG.uniform(-3, 3, (9, 3))
    locked[:, 1] = np.tile(
        np.array([0, np.pi, -np.pi] if seq[0] == seq[2] else [np.pi / 2, -np.pi / 2, 1]), 3
    )
    for given in (angles, locked):
        ours, theirs = Rotation.from_euler(seq, given), Reference.from_euler(seq, given)
        np.testing.assert_allclose(ours.as_matrix(), theirs.as_matrix(), atol=1e-14)
        for run in (lambda r: r.as_euler(seq), jax.jit(lambda r: r.as_euler(seq))):
            found, expected = run(ours), theirs.as_euler(seq)
            # Angles on the cut are those of either side.
            turns = (found - expected) / (2 * np.pi)
            np.testing.assert_allclose(turns - np.round(turns), 0, atol=3e-8)
            np.testing.assert_array_less(np.abs(found), np.pi + 1e-9)
            again = Rotation.from_euler(seq, found)
            np.testing.assert_allclose(again.as_matrix(), theirs.as_matrix(), atol=3e-7)


def test_single_angles_and_degrees() -> None:
    for seq, angles in (
        ("x", 30.0),
        ("Z", np.array([[30.0], [-60.0]])),
        ("yx", np.array([20, 50])),
    ):
        found = Rotation.from_euler(seq, angles, degrees=True)
        expected = Reference.from_euler(seq, angles, degrees=True).as_quat()
        np.testing.assert_allclose(
            found.as_quat(), np.reshape(expected, found.quat.shape), atol=1e-15
        )


def test_means_agree_with_scipy() -> None:
    weights = RNG.uniform(0, 1, len(EVEN))
    for given in (None, weights):
        found = Rotation.from_quat(EVEN).mean(given).as_matrix()
        np.testing.assert_allclose(
            found, Reference.from_quat(EVEN).mean(given).as_matrix(), atol=1e-12
        )
    single = Rotation.from_quat(EVEN[0])
    np.testing.assert_allclose(single.mean().as_matrix(), single.as_matrix(), atol=1e-12)


def test_vectors_and_their_way_back() -> None:
    vectors = RNG.normal(size=(30, 3))
    ours, theirs = Rotation.from_quat(EVEN), Reference.from_quat(EVEN)
    for v in (vectors, vectors[0], vectors[:1]):
        for inverse in (False, True):
            found = ours.apply(v, inverse=inverse)
            np.testing.assert_allclose(found, theirs.apply(v, inverse=inverse), atol=1e-14)


def test_sequences() -> None:
    many, one = Rotation.from_quat(EVEN), Rotation.from_quat(EVEN[0])
    assert (len(many), many.single, one.single) == (30, False, True)
    np.testing.assert_array_equal(many[0].quat, one.quat)
    np.testing.assert_array_equal(many[-2:].quat, many.quat[-2:])
    assert len(Rotation.concatenate([one, many, one])) == 32
    assert Rotation.identity(2).quat.tolist() == [[0, 0, 0, 1]] * 2
    np.testing.assert_allclose((many * many.inv()).magnitude(), 0, atol=1e-7)


def test_rotations_are_pytrees_that_can_be_kept() -> None:
    many = Rotation.from_quat(EVEN)
    assert len(jax.tree.leaves(many)) == 1
    again = pickle.loads(pickle.dumps(many))
    np.testing.assert_array_equal(again.quat, many.quat)
    inverse = jax.jit(Rotation.inv)(many)
    assert isinstance(inverse, Rotation)
    np.testing.assert_allclose(jax.vmap(Rotation.magnitude)(many), many.magnitude(), atol=1e-15)


def test_random_rotations_are_spread_evenly() -> None:
    drawn = Rotation.random(jax.random.key(0), 4000)
    # Of an even distribution, angles θ have the density (1 − cos θ) / π.
    theta = np.sort(drawn.magnitude())
    distribution = (theta - np.sin(theta)) / np.pi
    assert np.abs(distribution - np.linspace(0, 1, 4000)).max() < 0.03
    assert np.abs(drawn.as_matrix().mean(0)).max() < 0.05
    assert Rotation.random(jax.random.key(0)).single


def test_length_of_quaternions_is_of_no_concern() -> None:
    for scale in (1e-200, 1e200):
        found = Rotation.from_quat(scale * SPECIAL).as_quat()
        np.testing.assert_allclose(found, Reference.from_quat(SPECIAL).as_quat(), atol=1e-15)


def test_matrices_that_are_no_rotations() -> None:
    matrices = np.stack([np.eye(3), -np.eye(3), np.diag([1, 1, 0]), np.zeros((3, 3))])
    is_one = np.isfinite(Rotation.from_matrix(matrices).as_quat()).all(-1)
    np.testing.assert_array_equal(is_one, [True, False, False, False])


def test_derivatives_at_the_identity_are_finite() -> None:
    jacobian = jax.jacobian(lambda v: Rotation.from_rotvec(v).as_rotvec())(np.zeros(3))
    np.testing.assert_allclose(jacobian, np.eye(3), atol=1e-15)
    second = jax.hessian(lambda v: Rotation.from_rotvec(v).as_matrix()[0, 1])(np.zeros(3))
    np.testing.assert_allclose(second, [[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]], atol=1e-15)


def test_interpolation_is_of_the_times_given() -> None:
    rotations = Rotation.from_quat(EVEN[:4])
    slerp = Slerp.init([0, 1, 3, 4], rotations)
    expected = scipy.spatial.transform.Slerp([0, 1, 3, 4], Reference.from_quat(EVEN[:4]))
    times = np.array([0.0, 0.5, 1, 2.9, 3, 4])
    np.testing.assert_allclose(slerp(times).as_matrix(), expected(times).as_matrix(), atol=1e-12)
    assert slerp(2.0).single
    assert np.isnan(slerp(np.array([-1.0, 5.0])).quat).all()
    assert np.isnan(Slerp.init([0, 0, 0, 0], rotations)(0.0).quat).all()


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: Rotation.from_quat(np.ones(3)), ValueError, "from_quat"),
        (lambda: Rotation.from_quat(np.ones(4) * 1j), TypeError, "real"),
        (lambda: Rotation.from_matrix(np.ones((3, 2))), ValueError, "from_matrix"),
        (lambda: Rotation.from_rotvec(np.float64(1)), ValueError, "from_rotvec"),
        (lambda: Rotation.from_mrp(np.ones((2, 4))), ValueError, "from_mrp"),
        (lambda: Rotation.from_euler("xYz", np.ones(3)), ValueError, "seq"),
        (lambda: Rotation.from_euler("xxy", np.ones(3)), ValueError, "seq"),
        (lambda: Rotation.from_euler("", np.ones(3)), ValueError, "seq"),
        (lambda: Rotation.from_euler("xy", np.ones(3)), ValueError, "from_euler"),
        (lambda: Rotation.identity().as_euler("xy"), ValueError, "three axes"),
        (lambda: len(Rotation.identity()), TypeError, "single"),
        (lambda: Rotation.identity()[0], TypeError, "single"),
        (lambda: Rotation.identity() * 2, TypeError, "unsupported"),
        (lambda: Rotation.identity().apply(np.ones(2)), ValueError, "apply"),
        (lambda: Rotation.identity(2).mean(np.ones(3)), ValueError, "mean"),
        (lambda: Slerp.init([0.0, 1.0], Rotation.identity()), ValueError, "at least two"),
        (lambda: Slerp.init([0.0], Rotation.identity(2)), ValueError, "times"),
        (lambda: Rotation.identity(2) * Rotation.identity(3), ValueError, "one length"),
        (lambda: Rotation.identity(2).apply(np.ones((3, 3))), ValueError, "one length"),
        (
            lambda: Slerp.init([0.0, 1.0], Rotation.identity(2))(np.ones((2, 2))),
            ValueError,
            "times",
        ),
    ],
)
def test_misuse_is_refused(call: Callable[[], Any], error: type, told: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert told in str(caught.value)
