"""Exported programs: fields, calls in programs, derivatives, batches, platforms."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import export, lax
from morphax.control.callbacks.pure_callback import pure_callback
from morphax.engines.xla.mlir_context import dialect
from morphax.extend import core
from morphax.interpreters import mlir

X = np.arange(3, dtype=np.float32)
SPEC = jax.ShapeDtypeStruct((3,), "float32")


def two(x: Any, y: Any) -> Any:
    return {"a": jnp.sin(x) + y, "b": (2 * x,)}


EXPORTED = export.export(jax.jit(two))(SPEC, jax.ShapeDtypeStruct((), "float32"))


def test_fields() -> None:
    e = EXPORTED
    assert (e.fun_name, e.nr_devices, e.platforms) == ("two", 1, (jax.default_backend(),))
    assert [str(a) for a in (*e.in_avals, *e.out_avals)] == [
        "float32[3]",
        "float32[]",
        "float32[3]",
        "float32[3]",
    ]
    assert e.in_tree == jax.tree.structure(((0, 0), {}))
    assert e.out_tree == jax.tree.structure({"a": 0, "b": (0,)})
    assert (e.in_shardings_hlo, e.out_shardings_hlo) == ((None, None), (None, None))
    assert e.ordered_effects == e.unordered_effects == e.disabled_safety_checks == ()
    assert e.calling_convention_version == export.maximum_supported_calling_convention_version
    assert (e.module_kept_var_idx, e.uses_global_constants) == ((0, 1), False)
    assert "stablehlo.sine" in e.mlir_module()
    assert "stablehlo.sine" in str(e.mlir_module(serialized=False))
    assert repr(e) == "Exported(fun_name=two, ...)"
    assert e.has_vjp()


def check_equal(given: Any, expected: Any) -> None:
    assert jax.tree.structure(given) == jax.tree.structure(expected)
    for x, y in zip(jax.tree.leaves(given), jax.tree.leaves(expected), strict=True):
        assert (x.dtype, x.weak_type) == (y.dtype, y.weak_type)
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_calls() -> None:
    expected = jax.jit(two)(X, np.float32(2))
    for y in (2.0, np.float32(2), np.float64(2), jnp.float32(2)):
        check_equal(EXPORTED.call(X, y), expected)
    check_equal(jax.jit(EXPORTED.call)(X, 2.0), expected)
    many = jax.vmap(EXPORTED.call, (0, None))(jnp.stack([X, X + 1]), 2.0)
    check_equal(jax.tree.map(lambda x: x[1], many), jax.jit(two)(X + 1, np.float32(2)))
    inside = jax.jit(jax.vmap(EXPORTED.call))(jnp.stack([X, X + 1]), jnp.arange(2.0))
    assert inside["a"].shape == (2, 3)
    by_name = export.export(jax.jit(lambda x, *, n: x * n))(2.0, n=3.0)
    assert by_name.call(5.0, n=7.0) == 35.0
    with_static = export.export(jax.jit(lambda x, n: x * n, static_argnums=1))(2.0, 3)
    assert with_static.call(5.0) == 15.0


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((np.ones(4, np.float32), 2.0), {}, r"argument args\[0\](.|\n)*f32\[4\](.|\n)*f32\[3\]"),
        ((np.ones((3, 1), np.float32), 2.0), {}, r"f32\[3,1\]"),
        ((X, np.int32(2)), {}, r"argument args\[1\](.|\n)*i32\[\]"),
        ((X,), {}, "structure"),
        (([X], 2.0), {}, "structure"),
        ((X,), {"y": 2.0}, "structure"),
    ],
)
def test_wrong_arguments(args: Any, kwargs: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        EXPORTED.call(*args, **kwargs)


def test_wrong_functions_and_options() -> None:
    with pytest.raises(ValueError, match="a jitted function"):
        export.export(two)(X, 2.0)
    with pytest.raises(ValueError, match="names of platforms"):
        export.export(jax.jit(two), platforms="cpu")
    with pytest.raises(RuntimeError, match="names of platforms"):
        export.export(jax.jit(two), platforms=("gpu",))
    with pytest.raises(AttributeError, match="DisabledSafetyCheck"):
        export.export(jax.jit(two), disabled_checks=["platform"])
    with pytest.raises(NotImplementedError, match="callbacks"):
        export.export(jax.jit(lambda x: pure_callback(np.sin, SPEC, x)))(SPEC)
    with pytest.raises(TypeError, match="refers to"):
        jax.jit(lambda y: export.export(jax.jit(lambda x: x + y))(X).call(X))(1.0)


def test_derivatives() -> None:
    cube = export.export(jax.jit(lambda x: (x**3).sum()))(SPEC)
    np.testing.assert_allclose(jax.grad(cube.call)(X), 3 * X**2)
    second = jax.grad(lambda x: jax.grad(cube.call)(x).sum())
    np.testing.assert_allclose(second(X), 6 * X)
    np.testing.assert_allclose(jax.jit(second)(X), 6 * X)
    rows = jax.vmap(jax.grad(cube.call))(jnp.stack([X, 2 * X]))
    np.testing.assert_allclose(rows[1], 12 * X**2)
    pullback = EXPORTED.vjp()
    assert [str(a) for a in pullback.in_avals] == ["float32[3]", "float32[]"] + ["float32[3]"] * 2
    assert pullback.module_kept_var_idx == (0, 2, 3)
    with pytest.raises(TypeError, match="custom_vjp rule"):
        jax.jvp(cube.call, (X,), (X,))


def test_derivatives_beside_integers() -> None:
    picked = export.export(jax.jit(lambda x, i: (x[i], i + 1)))(
        SPEC, jax.ShapeDtypeStruct((), "i4")
    )
    assert str(picked.vjp().in_avals[3]) == "float0[]"
    gradient = jax.grad(lambda x: picked.call(x, np.int32(1))[0])(X)
    np.testing.assert_array_equal(gradient, [0, 1, 0])


def test_unused_arguments_are_not_passed() -> None:
    first = jax.jit(lambda x, y: x)
    other = jax.ShapeDtypeStruct((4,), "float32")
    exported = export.export(first)(SPEC, other)
    assert exported.module_kept_var_idx == (0,)
    np.testing.assert_array_equal(exported.call(X, np.ones(4, np.float32)), X)
    kept = export.export(jax.jit(lambda x, y: x, keep_unused=True))(SPEC, other)
    assert kept.module_kept_var_idx == (0, 1)


def test_sizes_are_checked_where_it_is_called() -> None:
    a, b = export.symbolic_shape("a, b", constraints=("a >= b", "mod(a, 2) == 0", "b <= 7"))
    specs = jax.ShapeDtypeStruct((2 * a, b), "f4"), jax.ShapeDtypeStruct((b,), "f4")
    exported = export.export(jax.jit(lambda x, y: x @ y))(*specs)
    assert exported.uses_global_constants

    def call(rows: int, columns: int, other: int) -> Any:
        return exported.call(np.ones((rows, columns), np.float32), np.ones(other, np.float32))

    assert call(8, 3, 3).shape == (8,)
    for sizes, told in (
        ((8, 3, 4), r"b for the size of axis 0 of args\[1\]"),
        ((9, 3, 3), r"2\*a for the size of axis 0 of args\[0\]"),
        ((8, 5, 5), "a >= b"),
        ((6, 2, 2), r"mod\(a, 2\) == 0"),
        ((20, 8, 8), "1 to 7 for b"),
        ((0, 0, 0), "from 1 on for a"),
    ):
        with pytest.raises(ValueError, match=told):
            call(*sizes)
    with pytest.raises(ValueError, match="sizes a, b"):
        export.export(jax.jit(lambda x: x))(jax.ShapeDtypeStruct((a * b,), "f4"))
    (other,) = export.symbolic_shape("c")
    mixed = jax.ShapeDtypeStruct((a,), "f4"), jax.ShapeDtypeStruct((other,), "f4")
    with pytest.raises(ValueError, match="one scope"):
        export.export(jax.jit(lambda x, y: x))(*mixed)


def test_symbolic_calls_of_symbolic_programs() -> None:
    (n,) = export.symbolic_shape("n")
    inner = export.export(jax.jit(lambda x: jnp.concatenate([x, x[1:]])))(
        jax.ShapeDtypeStruct((n,), "f4")
    )
    a, b = export.symbolic_shape("a, b")
    outer = export.export(jax.jit(lambda x: inner.call(inner.call(x.ravel()))))(
        jax.ShapeDtypeStruct((a, b), "f4")
    )
    assert str(outer.out_avals[0]) == "float32[4*a*b - 3]"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    once = np.concatenate([x.ravel(), x.ravel()[1:]])
    np.testing.assert_array_equal(outer.call(x), np.concatenate([once, once[1:]]))
    gradient = jax.grad(lambda x: outer.call(x).sum())(x)
    assert gradient[0, 0] == 1
    assert gradient[1, 1] == 4
    doubled = export.export(jax.jit(lambda x: x))(jax.ShapeDtypeStruct((2 * n,), "f4"))
    through = export.export(jax.jit(doubled.call))(jax.ShapeDtypeStruct((n,), "f4"))
    assert through.call(np.ones(4, np.float32)).shape == (4,)
    with pytest.raises((ValueError, RuntimeError)):
        through.call(np.ones(3, np.float32))


def by_platform(x: Any) -> Any:
    return lax.platform_dependent(
        x, cpu=lambda x: x + 1, cuda=lambda x: x - 1, default=lambda x: 2 * x
    )


def test_several_platforms() -> None:
    platforms = ("tpu", "cpu", "cuda", "rocm")
    exported = export.export(jax.jit(by_platform), platforms=platforms)(SPEC)
    text = exported.mlir_module()
    assert 'jax.global_constant = "_platform_index"' in text
    assert text.count("stablehlo.case") == 1
    assert exported.uses_global_constants
    expected = by_platform(X)
    np.testing.assert_array_equal(exported.call(X), expected)
    (n,) = export.symbolic_shape("n")
    dynamic = export.export(jax.jit(lambda x: by_platform(x[1:])), platforms=platforms)(
        jax.ShapeDtypeStruct((n,), "f4")
    )
    np.testing.assert_array_equal(dynamic.call(X), expected[1:])
    nested = export.export(jax.jit(exported.call), platforms=("cuda", "cpu"))(SPEC)
    np.testing.assert_array_equal(nested.call(X), expected)
    np.testing.assert_array_equal(jax.grad(lambda x: exported.call(x).sum())(X), np.ones(3))


def test_lowerings_of_platforms_that_differ() -> None:
    def function(x: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            return c + jnp.cumsum(row), jax.random.normal(jax.random.key(0), (3,))

        c, ys = lax.scan(step, x[0], x)
        return c, ys, jnp.linalg.cholesky(x @ x.T + jnp.eye(3))

    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    exported = export.export(jax.jit(function), platforms=("cpu", "cuda"))(x)
    assert "lapack_spotrf_ffi" in exported.mlir_module()
    assert "cusolver_potrf_ffi" in exported.mlir_module()
    for given, expected in zip(exported.call(x), jax.jit(function)(x), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-6)


def test_other_platforms() -> None:
    away = export.export(jax.jit(jnp.sin), platforms=("tpu",))
    with pytest.raises(ValueError, match="exported for: tpu"):
        away(SPEC).call(X)
    jax.make_jaxpr(away(SPEC).call)(X)
    free = export.export(
        jax.jit(jnp.sin),
        platforms=("tpu",),
        disabled_checks=[export.DisabledSafetyCheck.platform()],
    )(SPEC)
    np.testing.assert_allclose(free.call(X), np.sin(X), rtol=1e-6)
    again = export.deserialize(free.serialize())
    assert again.disabled_safety_checks == (export.DisabledSafetyCheck.platform(),)


def test_custom_calls_must_be_stable() -> None:
    kernel = core.Primitive("kernel_of_a_user")
    kernel.def_abstract_eval(lambda x: x)

    def lower(ctx: Any, x: Any) -> Any:
        return dialect("stablehlo").CustomCallOp([x.type], [x], "my_kernel").results

    mlir.register_lowering(kernel, lower)
    function = jax.jit(lambda x: kernel.bind(x) + 1)
    with pytest.raises(
        ValueError, match=r"custom calls of my_kernel(.|\n)*custom_call\('my_kernel'\)"
    ):
        export.export(function)(SPEC)
    allowed = [export.DisabledSafetyCheck.custom_call("my_kernel")]
    assert "my_kernel" in export.export(function, disabled_checks=allowed)(SPEC).mlir_module()
    check = allowed[0]
    assert (check.is_custom_call(), repr(check)) == ("my_kernel", "custom_call:my_kernel")
    assert export.DisabledSafetyCheck.platform().is_custom_call() is None


def test_overridden_lowering_rules() -> None:
    def lower(ctx: Any, x: Any, **_: Any) -> Any:
        return dialect("stablehlo").CosineOp(x).results

    function = jax.jit(lambda x: jnp.sin(x))
    exported = export.export(function, _override_lowering_rules=[(lax.sin_p, lower)])(SPEC)
    np.testing.assert_allclose(exported.call(X), np.cos(X), rtol=1e-6)


def test_programs_on_several_devices() -> None:
    devices = np.array(jax.devices()[:2])
    mesh = jax.sharding.Mesh(devices, ("x",))
    split = jax.NamedSharding(mesh, jax.P("x"))
    x = np.arange(8, dtype=np.float32)

    def doubled_sums(x: Any) -> Any:
        return jnp.cumsum(x) * 2

    function = jax.jit(doubled_sums, in_shardings=split, out_shardings=split)
    exported = export.export(function)(x)
    assert exported.nr_devices == 2
    for program in (exported, export.deserialize(exported.serialize(vjp_order=1))):
        assert program.in_shardings_jax(mesh) == program.out_shardings_jax(mesh) == (split,)
        backwards = jax.sharding.Mesh(devices[::-1], ("x",))
        for where in (split, *program.in_shardings_jax(backwards)):
            out = program.call(jax.device_put(x, where))
            np.testing.assert_array_equal(out, doubled_sums(x))
            assert out.sharding.is_equivalent_to(where, 1)
        gradient = jax.grad(lambda x, program=program: program.call(x).sum())
        np.testing.assert_array_equal(gradient(jax.device_put(x, split)), 2 * np.arange(8, 0, -1))
        with pytest.raises(ValueError, match="on 2, as it was exported for"):
            program.call(x)
        with pytest.raises(ValueError, match=r"the axes {'x': 2} of the exported"):
            program.in_shardings_jax(jax.sharding.Mesh(devices, ("y",)))
    axes = mesh.abstract_mesh
    described = jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=jax.NamedSharding(axes, jax.P("x")))
    without_devices = export.export(jax.jit(doubled_sums))(described)
    assert without_devices.nr_devices == 2
    assert [s.spec for s in without_devices.in_shardings_jax(axes)] == [jax.P("x")]
    np.testing.assert_array_equal(
        without_devices.call(jax.device_put(x, split)), exported.call(jax.device_put(x, split))
    )
    anywhere = export.export(jax.jit(doubled_sums))(x)
    out = anywhere.call(jax.device_put(x, split))
    np.testing.assert_array_equal(out, doubled_sums(x))


_READ = """
import sys
import numpy as np
import morphax as jax
from morphax import export
exported = export.deserialize(open(sys.argv[1], "rb").read())
x = np.arange(5, dtype=np.float32)
print(exported.call(x)[0], jax.grad(lambda x: exported.call(x)[0])(x).tolist())
"""


def test_another_process(tmp_path: Any) -> None:
    (n,) = export.symbolic_shape("n")
    exported = export.export(jax.jit(lambda x: (jnp.sum(x**2) / x.shape[0], x[::2])))(
        jax.ShapeDtypeStruct((n,), "f4")
    )
    file = tmp_path / "program"
    file.write_bytes(exported.serialize(vjp_order=1))
    read = subprocess.run(
        [sys.executable, "-c", _READ, file], capture_output=True, text=True, check=True
    )
    assert read.stdout.split(" ", 1)[0] == "6.0"
    assert "[0.0, 0.4" in read.stdout
