"""Exported programs as bytes: what is read back, and what is refused."""

from __future__ import annotations

import base64
import collections
import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import export
from morphax.engines.xla.mlir_context import dialect
from morphax.export._format import _MARK, parts_of

A, B = export.symbolic_shape("a, b", constraints=("a >= b", "mod(a, 2) == 0"))


def program(x: Any, d: dict[str, Any]) -> Any:
    return jnp.sort(x @ d["w"])[::2], [x.shape[0], None]


EXPORTED = export.export(jax.jit(program), platforms=("cpu", "cuda"))(
    jax.ShapeDtypeStruct((A, B), "float32"), {"w": jax.ShapeDtypeStruct((B, 3), "float32")}
)
BLOB = bytes(EXPORTED.serialize(vjp_order=1))
ARGS = np.ones((4, 2), np.float32), {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}


def test_what_is_read_is_what_was_written() -> None:
    again = export.deserialize(bytearray(BLOB))
    names = "fun_name in_tree out_tree platforms nr_devices module_kept_var_idx "
    names += "mlir_module_serialized uses_global_constants calling_convention_version"
    for name in names.split():
        assert getattr(again, name) == getattr(EXPORTED, name), name
    for name in ("in_avals", "out_avals"):
        assert list(map(str, getattr(again, name))) == list(map(str, getattr(EXPORTED, name)))
    assert again.serialize(vjp_order=1) == BLOB
    for given, expected in zip(
        jax.tree.leaves(again.call(*ARGS)), jax.tree.leaves(program(*ARGS)), strict=True
    ):
        np.testing.assert_allclose(given, expected)
    assert again.has_vjp()
    assert not again.vjp().has_vjp()
    gradient = jax.grad(lambda x: again.call(x, ARGS[1])[0].sum())(ARGS[0])
    np.testing.assert_allclose(gradient.sum(), 2 * 15)
    plain = export.deserialize(EXPORTED.serialize())
    with pytest.raises(ValueError, match="vjp_order"):
        plain.vjp()
    with pytest.raises(ValueError, match="vjp_order"):
        EXPORTED.serialize(vjp_order=-1)


def test_the_module_is_portable() -> None:
    stablehlo = dialect("stablehlo")
    kinds = stablehlo.StablehloCompatibilityRequirement
    version = stablehlo.get_version_from_compatibility_requirement(kinds.WEEK_12)
    written_out = export.export(jax.jit(lambda x: jax.scipy.special.erfinv(x) + jnp.sinh(x)))
    (n,) = export.symbolic_shape("n")
    dynamic = written_out(jax.ShapeDtypeStruct((n,), "float32"))
    for exported in (EXPORTED, dynamic, written_out(np.ones(2, np.float32))):
        artifact = exported.mlir_module_serialized
        assert f"StableHLO_v{version}".encode() in artifact[:40]
        read = stablehlo.deserialize_portable_artifact_str(artifact)
        assert stablehlo.serialize_portable_artifact_str(read, version)
        assert "chlo." not in exported.mlir_module()
    x = np.linspace(-0.9, 0.9, 7, dtype=np.float32)
    expected = jax.scipy.special.erfinv(x) + np.sinh(x)
    np.testing.assert_allclose(dynamic.call(x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "dtype", ["bool", "int4", "uint8", "bfloat16", "float8_e4m3fn", "complex64"]
)
def test_dtypes(dtype: str) -> None:
    spec = jax.ShapeDtypeStruct((2,), dtype)
    again = export.deserialize(export.export(jax.jit(lambda x: x[::-1]))(spec).serialize())
    x = jnp.array([0, 1]).astype(dtype)
    assert again.in_avals == (x.aval,)
    np.testing.assert_array_equal(again.call(x).astype("c8"), [1, 0])


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_keys(impl: str) -> None:
    key = jax.random.key(3, impl=impl)
    exported = export.export(jax.jit(lambda key: jax.random.bits(key, (4,))))(key)
    again = export.deserialize(exported.serialize(vjp_order=1))
    np.testing.assert_array_equal(again.call(key), jax.random.bits(key, (4,)))
    assert str(again.vjp().in_avals[1]) == "float0[4]"


Pair = collections.namedtuple("Pair", "first second")


@jax.tree_util.register_pytree_node_class
class Scaled:
    def __init__(self, value: Any, unit: str) -> None:
        self.value, self.unit = value, unit

    def tree_flatten(self) -> tuple[Any, str]:
        return (self.value,), self.unit

    @classmethod
    def tree_unflatten(cls, unit: str, children: Any) -> Scaled:
        return cls(*children, unit)


def test_classes_of_users() -> None:
    exported = export.export(jax.jit(lambda p: Scaled(p.first, "m")))(Pair(1.0, 2.0))
    with pytest.raises(ValueError, match="a tree with Pair"):
        exported.serialize()
    assert export.register_namedtuple_serialization(Pair, serialized_name="test.Pair") is Pair
    with pytest.raises(ValueError, match="a tree with Scaled"):
        exported.serialize()
    export.register_pytree_node_serialization(
        Scaled,
        serialized_name="test.Scaled",
        serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode,
    )
    blob = bytes(exported.serialize())
    result = export.deserialize(blob).call(Pair(3.0, 4.0))
    assert (result.value, result.unit) == (3.0, "m")
    for changed, told in (
        (blob.replace(b"test.Pair", b"test.Pear"), "called 'test.Pear'"),
        (
            blob.replace(encoded('["first", "second"]'), encoded('["first", "seconk"]')),
            "the fields first, seconk",
        ),
        (blob.replace(encoded('["first", "second"]'), encoded('["first", "second"}')), "names of"),
    ):
        with pytest.raises(ValueError, match=told):
            export.deserialize(sealed(changed))
    for register, told in (
        (lambda: export.register_namedtuple_serialization(Pair, serialized_name="x"), "already"),
        (
            lambda: export.register_namedtuple_serialization(Scaled, serialized_name="x"),
            "named tuple",
        ),
        (lambda: registered(int), "is no tree"),
        (lambda: registered(Scaled), "already"),
    ):
        with pytest.raises(ValueError, match=told):
            register()


def encoded(text: str) -> bytes:
    return base64.b64encode(text.encode())


def test_ordered_dictionaries() -> None:
    args = (collections.OrderedDict(b=1.0, a=2.0),)
    exported = export.export(jax.jit(lambda x: x))(*args)
    assert list(export.deserialize(exported.serialize()).call(*args)) == ["b", "a"]
    with pytest.raises(ValueError, match="an OrderedDict of keys"):
        export.export(jax.jit(lambda x: x))(collections.OrderedDict({1: 1.0})).serialize()


def registered(nodetype: type) -> None:
    export.register_pytree_node_serialization(
        nodetype,
        serialized_name="another",
        serialize_auxdata=lambda data: b"",
        deserialize_auxdata=lambda data: None,
    )


def test_trees() -> None:
    args = ({"b": 1.0, "a": [2.0, (None, 3.0)]}, ())
    exported = export.export(jax.jit(lambda *xs: xs))(*args)
    again = export.deserialize(exported.serialize())
    assert jax.tree.structure(again.call(*args)) == jax.tree.structure(args)
    with pytest.raises(ValueError, match="of keys"):
        export.export(jax.jit(lambda d: d))({1: 2.0}).serialize()


def sealed(blob: bytes) -> bytes:
    """Bytes with the digest that belongs to them."""
    return blob[:-32] + hashlib.sha256(blob[:-32]).digest()


def with_header(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The program with a header that somebody has changed."""
    header, modules = parts_of(BLOB)
    change(header)
    text = json.dumps(header).encode()
    lengths = [len(part).to_bytes(8, "little") for part in (text, modules)]
    return sealed(_MARK + b"".join(lengths) + text + bytes(modules) + bytes(32))


def mutated(rng: random.Random) -> bytes:
    """The bytes with some of them cut off, changed, left out or added."""
    blob, place = bytearray(BLOB), rng.randrange(len(BLOB))
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(blob[:place])
    if kind == 1:
        blob[place] ^= rng.randrange(1, 256)
    elif kind == 2:
        del blob[place : place + rng.randrange(1, 20)]
    else:
        blob[place:place] = rng.randbytes(rng.randrange(1, 20))
    return bytes(blob)


def test_corrupt_bytes_are_refused() -> None:
    rng = random.Random(0)
    for _ in range(1000):
        with pytest.raises(ValueError, match=r"export\.deserialize(.|\n)*given:(.|\n)*fix:"):
            export.deserialize(bytearray(mutated(rng)))
    for blob in (b"", b"abc", BLOB + b"\n"):
        with pytest.raises(ValueError, match="bytes"):
            export.deserialize(bytearray(blob))
    with pytest.raises(TypeError, match="expected: bytes"):
        export.deserialize("text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("fun_name", 3), ("constraints", ["a >"]), ("constraints", [3]), ("in_tree", "?")],
        *[("in_tree", ["tuple", ["*"]]), ("in_avals", [["float32", "a", 0]]), ("in_avals", None)],
        *[("out_avals", [["float31", "", False]] * 2), ("out_tree", ["dict", [1], ["*"]])],
        *[("out_avals", [["float32", "c", False]] * 2), ("in_avals", [["f4", "-1", False]] * 2)],
        *[("nr_devices", -1), ("platforms", []), ("module_kept_var_idx", [1, 0])],
        *[("module_kept_var_idx", [7]), ("calling_convention_version", 11), ("vjp", {})],
        *[("module_length", 10**9), ("module_length", 10), ("in_shardings", [[["x"], []]] * 2)],
        *[("in_shardings", [[[["x", 2]], ["y"]]] * 2), ("disabled_safety_checks", [None])],
        *[("out_tree", ["class", "nobody", "", []]), ("calling_convention_version", "x")],
        ("in_tree", ["tuple", [["tuple", [["class", "test.Pair", "%%", ["*", "*"]]]], "*"]]),
    ],
)
def test_forged_headers_are_refused(key: str, value: Any) -> None:
    blob = with_header(lambda header: header.update({key: value}))
    with pytest.raises((ValueError, TypeError), match=r"(?s)given:.*expected:.*fix:"):
        export.deserialize(blob)


def test_nested_headers_do_not_overflow() -> None:
    text = json.dumps({"in_tree": 0}).replace("0", '["list",[' * 5000 + "0" + "]]" * 5000).encode()
    lengths = len(text).to_bytes(8, "little") + bytes(8)
    with pytest.raises(ValueError, match=r"export\.deserialize"):
        export.deserialize(sealed(_MARK + lengths + text + bytes(32)))
