"""Mistakes that people make: what the error says of each, and that it names the line.

Each row is a program that is wrong, the class of its error, what the text says was given, and how
the program is mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
import morphax.scipy.optimize
from morphax import errors, export, lax
from morphax.experimental import checkify, sparse
from morphax.scipy import ndimage

X = jnp.arange(6.0).reshape(2, 3)
V = jnp.ones(3)
KEY = jax.random.key(0)
SCALAR = jax.ShapeDtypeStruct((), np.float32)
MESH = jax.make_mesh((1,), ("x",))


class Net:
    """What people pass to transformed functions before they have heard of trees."""

    def __call__(self, x: Any) -> Any:
        return x


def nothing(x: Any) -> None:
    """A loss whose `return` was forgotten."""
    jnp.sum(x)


def branches(x: Any) -> Any:
    return x if x > 0 else -x


def with_rules(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """The derivative at 2 of a square with these rules."""
    square = jax.custom_vjp(lambda x: x * x)
    square.defvjp(forward, backward)
    return jax.grad(square)(2.0)


def donated() -> Any:
    """An array whose memory is gone."""
    x = jnp.ones(3)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    return x


class Row(NamedTuple):
    call: Callable[[], Any]
    error: type[Exception]
    given: str
    fix: str


MISTAKES = {
    # Shapes.
    "matmul": Row(lambda: X @ X, ValueError, r"\(2, 3\) and \(2, 3\)", "Transpose"),
    "add": Row(lambda: X + jnp.ones(2), ValueError, r"\(2, 3\), \(2,\)", r"x\[:, None\]"),
    "concatenate": Row(
        lambda: jnp.concatenate([X, jnp.ones((3, 2))]),
        ValueError,
        r"axis 0 of float32\[2,3\] and float32\[3,2\]",
        r"jnp\.stack joins along a new axis",
    ),
    "hstack": Row(lambda: jnp.hstack([X, X.T]), ValueError, "axis 1 of", "Reshape"),
    "concatenate scalars": Row(
        lambda: jnp.concatenate([1.0, 2.0]), ValueError, "which has no axis", r"Use jnp\.stack"
    ),
    "stack": Row(lambda: jnp.stack([X, V]), ValueError, "and float32", r"jnp\.concatenate"),
    "reshape": Row(lambda: X.reshape(4, 2), ValueError, "6 elements", "make 8 elements"),
    "reshape, indivisible": Row(
        lambda: X.reshape(4, -1), ValueError, "6 elements", "no multiple of the 4"
    ),
    "reshape, two open": Row(lambda: X.reshape(-1, -1), ValueError, "-1, -1", "write -1 once"),
    "view as reshape": Row(lambda: X.view(-1), TypeError, "-1 of type int", r"x\.reshape"),
    "transpose some": Row(lambda: X.transpose(0), ValueError, r"\(0,\) for", r"jnp\.moveaxis"),
    "squeeze": Row(lambda: jnp.squeeze(X, 0), ValueError, "0 for float32", "by its index"),
    "tile": Row(lambda: jnp.tile(X, -1), ValueError, "-1", "Pass 0 for an empty result"),
    "full": Row(lambda: jnp.full((2, 2), V), ValueError, r"float32\[3\] for the shape", "Reshape"),
    "linspace": Row(
        lambda: jnp.linspace(jnp.ones(2), V, 3), ValueError, r"\(2,\), \(3,\)", "Reshape"
    ),
    "sum over a missing axis": Row(
        lambda: jnp.sum(X, axis=2),
        ValueError,
        "axis 2 of an array with 2 axes",
        "that the array has",
    ),
    "sum of a number": Row(
        lambda: jnp.sum(1.0, axis=0), ValueError, "with 0 axes", r"jnp\.atleast_1d"
    ),
    "softmax": Row(lambda: jax.nn.softmax(X, 3), ValueError, "axis 3", "that the array has"),
    "one_hot": Row(lambda: jax.nn.one_hot(V, 2.5), TypeError, "2.5", "Python integer"),
    "einsum, terms": Row(
        lambda: jnp.einsum("ij,jk->ik", X), ValueError, r"1 operand\(s\)", "product of two"
    ),
    "conv padding": Row(
        lambda: lax.conv(jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3)), (1, 1), "SOME"),
        ValueError,
        "'SOME'",
        'padding="SAME"',
    ),
    "pad mode": Row(lambda: jnp.pad(X, 1, mode="mirror"), ValueError, "'mirror'", "Choose one"),
    "pad width": Row(lambda: jnp.pad(X, -1), ValueError, "-1", "Slice the array"),
    "percentile": Row(
        lambda: jnp.percentile(X, 50, method="other"), ValueError, "'other'", "'linear'"
    ),
    # Values that are no arrays.
    "list": Row(lambda: jnp.sum([1, 2]), TypeError, "type list", r"with jnp\.array"),
    "None": Row(lambda: jnp.dot(None, X), TypeError, "NoneType", "return statement"),
    "text": Row(lambda: jnp.sin("1.0"), TypeError, "'1.0'", r"float\(x\)"),
    "dict": Row(lambda: jnp.asarray({"a": 1}), TypeError, "type dict", r"jax\.tree\.map"),
    "generator": Row(
        lambda: jnp.array(i for i in range(3)), TypeError, "generator", r"jnp\.array\(list\(x\)\)"
    ),
    "shape without numbers": Row(
        lambda: jnp.sin(jax.ShapeDtypeStruct((3,), np.float32)),
        TypeError,
        "ShapeDtypeStruct",
        r"jax\.eval_shape",
    ),
    "ragged list": Row(
        lambda: jnp.array([[1, 2], [3]]), ValueError, "different shapes", "Pad the shorter"
    ),
    "device_put": Row(lambda: jax.device_put("a"), TypeError, "'a' of type str", "float"),
    "eval_shape": Row(lambda: jax.eval_shape(branches, "a"), TypeError, "'a'", "outside of the"),
    "make_jaxpr": Row(lambda: jax.make_jaxpr(branches)("a"), TypeError, "'a'", "outside of the"),
    "object": Row(
        lambda: jax.jit(lambda net, x: net(x))(Net(), X),
        TypeError,
        "of type Net",
        r"register_dataclass",
    ),
    "function": Row(
        lambda: jax.jit(lambda f, x: f(x))(branches, X), TypeError, "function branches at", "static"
    ),
    "relu of text": Row(lambda: jax.nn.relu("a"), TypeError, "'a'", "outside of the function"),
    # Indices.
    "assignment": Row(lambda: X.__setitem__(0, 1.0), TypeError, "immutable", r"x\.at\[index\]"),
    "index by float": Row(lambda: X[1.0], TypeError, "type float", r"int\(\)"),
    "index by name": Row(lambda: X["a"], TypeError, "type str", "by name in a dict"),
    "index by list": Row(lambda: X[[0, 1]], TypeError, "type list", r"jnp\.array\(index\)"),
    # Derivatives.
    "grad of an array": Row(
        lambda: jax.grad(lambda x: x * 2)(V), TypeError, r"float32\[3\]", r"jnp\.sum"
    ),
    "grad of nothing": Row(lambda: jax.grad(nothing)(V), TypeError, "None", "return statement"),
    "grad of a pair": Row(
        lambda: jax.grad(lambda x: (x, x))(1.0), TypeError, r"\(\*, \*\)", "has_aux=True"
    ),
    "grad of a count": Row(
        lambda: jax.grad(lambda x: x.astype(int).sum())(V), TypeError, "int32", "no derivative"
    ),
    "grad of a complex number": Row(
        lambda: jax.grad(lambda x: x * 1j)(1.0), TypeError, "complex64", "holomorphic=True"
    ),
    "grad by an integer": Row(
        lambda: jax.grad(lambda x: x**2)(3), TypeError, r"int32\[\]", r"3 to 3\.0"
    ),
    "grad, second of one": Row(
        lambda: jax.grad(lambda x: x, 1)(1.0), TypeError, "argnums=1 for 1", "from 0"
    ),
    "grad without a pair": Row(
        lambda: jax.grad(lambda x: x, has_aux=True)(1.0), TypeError, r"f32\[\]", "Return a pair"
    ),
    "minimum of a vector": Row(
        lambda: jax.scipy.optimize.minimize(jnp.sin, V, method="BFGS"),
        TypeError,
        r"float32\[3\]",
        r"Reduce the result",
    ),
    # Traced values.
    "if": Row(
        lambda: jax.jit(branches)(1.0),
        errors.TracerBoolConversionError,
        "which depends on x",
        r"jnp\.where, lax\.cond or lax\.while_loop, or mark the argument static",
    ),
    "if in a batch": Row(
        lambda: jax.vmap(branches)(V),
        errors.TracerBoolConversionError,
        "one member of a batch",
        r"or share the argument among all members \(in_axes=None\)",
    ),
    "if in a checkpoint": Row(
        lambda: jax.jit(jax.checkpoint(branches))(1.0),
        errors.TracerBoolConversionError,
        "traced by checkpoint",
        "static_argnums of checkpoint",
    ),
    "if in a loop": Row(
        lambda: lax.map(branches, jnp.ones(300)),
        errors.TracerBoolConversionError,
        "which depends on x",
        "take it from outside of the function",
    ),
    "float": Row(
        lambda: jax.jit(float)(1.0), errors.ConcretizationTypeError, r"f32\[\]", "Keep the"
    ),
    "range": Row(
        lambda: jax.jit(lambda n: range(n))(3),
        errors.TracerIntegerConversionError,
        "argument n of",
        "Sizes, shapes and axes are Python ints",
    ),
    "numpy": Row(
        lambda: jax.jit(np.sin)(1.0), errors.TracerArrayConversionError, "argument", "jnp functions"
    ),
    "traced shape": Row(
        lambda: jax.jit(lambda n: jnp.zeros((n, 2)))(3), TypeError, "argument n of", "static"
    ),
    "traced slice": Row(
        lambda: jax.jit(lambda x, n: x[:n])(V, 2),
        IndexError,
        "bound that is the argument n",
        r"lax\.dynamic_slice_in_dim",
    ),
    "traced mask": Row(
        lambda: jax.jit(lambda x: x[x > 0])(V), IndexError, "result of gt", r"jnp\.where"
    ),
    "traced unique": Row(
        lambda: jax.jit(jnp.unique)(V),
        errors.ConcretizationTypeError,
        "traced by jit",
        "Pass size=, the number of elements to return.$",
    ),
    "static array": Row(
        lambda: jax.jit(lambda x, a: x, static_argnums=1)(1.0, V),
        ValueError,
        "cannot be hashed",
        "that is an array",
    ),
    # Loops, branches and batches.
    "scan over a number": Row(
        lambda: lax.scan(lambda c, x: (c, x), 1.0, 3), ValueError, r"xs: i32\[\]", "None, length=n"
    ),
    "scan over nothing": Row(
        lambda: lax.scan(lambda c, x: (c, x), 1.0, None), ValueError, "no arrays", "Pass length="
    ),
    "scan without a pair": Row(
        lambda: lax.scan(lambda c, x: c, 1.0, V), TypeError, r"^~?float32\[\]", "two values"
    ),
    "scan whose carry grows": Row(
        lambda: lax.scan(lambda c, x: (jnp.stack([c, c]), None), 1.0, V),
        TypeError,
        r"comes back as ~?float32\[2\]",
        r"shape \(2,\)",
    ),
    "map over a number": Row(
        lambda: lax.map(lambda x: x, 1.0), ValueError, r"xs: f32\[\]", "an axis of steps"
    ),
    "associative scan of a number": Row(
        lambda: lax.associative_scan(jnp.add, 3.0), ValueError, r"float32\[\]", "along an axis"
    ),
    "branches of two dtypes": Row(
        lambda: lax.cond(True, lambda x: x, lambda x: x.astype(int), 1.0),
        TypeError,
        "int32.* and .*float32",
        "astype",
    ),
    "batches of two sizes": Row(
        lambda: jax.vmap(jnp.add)(V, jnp.ones(4)), ValueError, "size 3.*size 4", "Check in_axes"
    ),
    "no axis name": Row(lambda: lax.psum(1.0, "i"), NameError, "'i'", "axis_name='i'"),
    # Random numbers, settings, devices and trees.
    "seed for a key": Row(
        lambda: jax.random.normal((2, 3), KEY), TypeError, r"\(2, 3\) of type tuple", "before the"
    ),
    "broken seed": Row(lambda: jax.random.key(0.5), TypeError, "float32", r"int\(seed\)"),
    "unknown option": Row(
        lambda: jax.config.update("jax_enable_x46", True), AttributeError, "x46", "jax_enable_x64"
    ),
    "bits of floats": Row(lambda: X & 1, TypeError, r"float32\[2,3\]", "astype"),
    "too many devices": Row(
        lambda: jax.make_mesh((4096,), ("x",)), ValueError, "4096 devices", "jax_num_cpu_devices"
    ),
    "specs for arguments": Row(
        lambda: jax.shard_map(
            lambda x: x,
            mesh=jax.make_mesh((1,), ("x",)),
            in_specs=(jax.P("x"), jax.P("x")),
            out_specs=jax.P("x"),
        )(X),
        ValueError,
        "args is a tuple of length 1",
        "same number",
    ),
    "trees that differ": Row(
        lambda: jax.tree.map(jnp.add, {"a": 1, "b": 2}, {"a": 1}),
        ValueError,
        "keys",
        "Add the keys",
    ),
    # More loops, branches and batches.
    "scan over two lengths": Row(
        lambda: lax.scan(lambda c, x: (c, x[0]), 0.0, (V, jnp.ones(4))),
        ValueError,
        r"xs\[0\]: f32\[3\], xs\[1\]: f32\[4\]",
        "same leading size",
    ),
    "scan whose carry becomes a pair": Row(
        lambda: lax.scan(lambda c, x: ((c, c), x), 0.0, V),
        TypeError,
        r"comes back as PyTreeDef\(\(\*, \*\)\)",
        "in the containers",
    ),
    "while with a condition in a tuple": Row(
        lambda: lax.while_loop(lambda x: (x < 3,), lambda x: x + 1, 0),
        TypeError,
        r"PyTreeDef\(\(\*,\)\)",
        "the truth value alone",
    ),
    "while with a condition per element": Row(
        lambda: lax.while_loop(lambda x: x < 3, lambda x: x + 1, V),
        TypeError,
        r"bool\[3\]",
        r"jnp\.all or jnp\.any",
    ),
    "while that forgets to return": Row(
        lambda: lax.while_loop(lambda x: x < 3, lambda x: None, 0),
        TypeError,
        r"comes back as PyTreeDef\(None\)",
        "Return the carry",
    ),
    "steps by a float": Row(
        lambda: lax.fori_loop(0, 3.5, lambda i, x: x, 0.0), TypeError, "float32", "Python int"
    ),
    "cond by a vector": Row(
        lambda: lax.cond(V > 0, lambda: 1, lambda: 2), TypeError, r"bool\[3\]", r"jnp\.any"
    ),
    "cond of values": Row(lambda: lax.cond(True, 1.0, 2.0), TypeError, "1.0 of", "Pass functions"),
    "switch by a float": Row(
        lambda: lax.switch(1.5, [lambda: 1, lambda: 2]), TypeError, "float32", "astype"
    ),
    "batch along a missing axis": Row(
        lambda: jax.vmap(jnp.sin, in_axes=2)(X), ValueError, "over axis 2", "Change in_axes"
    ),
    "batch by too few axes": Row(
        lambda: jax.vmap(jnp.add, in_axes=(0,))(V, V), ValueError, r"\(0,\), for 2", "Use None"
    ),
    "batch of nothing": Row(
        lambda: jax.vmap(jnp.sin, in_axes=None)(V), ValueError, "no argument", "axis_size"
    ),
    "batch of a keyword": Row(
        lambda: jax.vmap(lambda x, y: x + y)(V, y=2.0), ValueError, "over axis 0", "to share it"
    ),
    # Rules of derivatives.
    "backward rule of too few": Row(
        lambda: with_rules(lambda x: (x * x, x), lambda r, g: 2 * r * g),
        TypeError,
        r"structure PyTreeDef\(\*\)",
        "Return a tuple",
    ),
    "forward rule without residuals": Row(
        lambda: with_rules(lambda x: x * x, lambda r, g: (r * g,)), TypeError, "4.0", "a pair"
    ),
    "backward rule of another shape": Row(
        lambda: with_rules(lambda x: (x * x, x), lambda r, g: (jnp.ones(3),)),
        ValueError,
        r"float32\[3\]",
        "shapes and dtypes of the arguments",
    ),
    "no rules": Row(
        lambda: jax.grad(jax.custom_vjp(lambda x: x * x))(2.0),
        AttributeError,
        "before the derivative",
        "defvjp",
    ),
    "tangent of another shape": Row(
        lambda: jax.jvp(jnp.sin, (V,), (jnp.ones(2),)),
        ValueError,
        r"float32\[2\]",
        "Give tangents",
    ),
    "tangents without a tuple": Row(
        lambda: jax.jvp(jnp.sin, V, V), TypeError, "of type Array", r"jvp\(f, \(x,\), \(v,\)\)"
    ),
    "cotangent of another shape": Row(
        lambda: jax.vjp(jnp.sin, V)[1](jnp.ones(2)), ValueError, r"float32\[2\]", "Give cotangents"
    ),
    "cotangents of another structure": Row(
        lambda: jax.vjp(lambda x: (x, x), V)[1](V), ValueError, r"PyTreeDef\(\*\)", "one cotangent"
    ),
    "transpose of a square": Row(
        lambda: jax.linear_transpose(lambda x: x * x, 1.0)(1.0),
        TypeError,
        "operand 0, 1",
        "closure",
    ),
    "gradient of a callback": Row(
        lambda: jax.grad(lambda x: jax.pure_callback(np.sin, SCALAR, x))(1.0),
        ValueError,
        "a call of Python",
        r"jax\.custom_jvp",
    ),
    # Arrays that are read and changed.
    "update by too much": Row(
        lambda: V.at[:2].set(V), ValueError, r"float32\[3\] for places of shape \(2,\)", "Reshape"
    ),
    "update in an unknown mode": Row(
        lambda: V.at[0].set(1.0, mode="wrapp"), ValueError, "'wrapp'", "outside the array"
    ),
    "update by too many indices": Row(
        lambda: V.at[0, 0].add(1.0), IndexError, "2 indices", "as many axes"
    ),
    "mask of another length": Row(
        lambda: V[jnp.array([True, False])], IndexError, r"shape \(2,\)", "astype"
    ),
    "dtype that is none": Row(lambda: V.astype("flaot32"), TypeError, "'flaot32'", r"jnp\.float32"),
    "clip by text": Row(lambda: jnp.clip(V, "a"), TypeError, "'a' of type str", r"float\(x\)"),
    "negative for unsigned": Row(
        lambda: jnp.array(-1, "uint8"), OverflowError, "-1 for the dtype uint8", "wider dtype"
    ),
    "truth of a vector": Row(lambda: bool(V), ValueError, "3 elements", r"x\.any"),
    # Random numbers.
    "text for a seed": Row(
        lambda: jax.random.key("seed"), TypeError, "'seed' of type str", r"int\(seed\)"
    ),
    "several keys for one": Row(
        lambda: jax.random.normal(jax.random.split(KEY)), ValueError, r"shape \(2,\)", r"jax\.vmap"
    ),
    "sum with a key": Row(lambda: KEY + 1, TypeError, "key<fry>, int32", r"random\.fold_in"),
    "choice by too few odds": Row(
        lambda: jax.random.choice(KEY, 3, p=jnp.ones(2)), ValueError, r"float32\[2\]", "length"
    ),
    "choice of too many": Row(
        lambda: jax.random.choice(KEY, 3, (5,), replace=False), ValueError, "of 5", "replace=True"
    ),
    # Static, donated and compiled arguments; programs that travel.
    "static list": Row(
        lambda: jax.jit(lambda x, n: x, static_argnums=1)(V, [1]), ValueError, r"\[1\]", "tuples"
    ),
    "static name that is none": Row(
        lambda: jax.jit(jnp.sin, static_argnames="n")(V), ValueError, "'n'", "static_argnums"
    ),
    "donated twice": Row(
        lambda: jax.jit(lambda x: x, donate_argnums=3)(V), ValueError, "number 3", "Count from 0"
    ),
    "use of a donated array": Row(
        lambda: donated() + 1, RuntimeError, "because it was donated", "the result of that call"
    ),
    "call of what was compiled for another shape": Row(
        lambda: jax.jit(jnp.sin).lower(V).compile()(jnp.ones(4)),
        TypeError,
        r"float32\[4\]",
        "compile again",
    ),
    "export of a function as it is": Row(
        lambda: export.export(lambda x: x)(V),
        ValueError,
        "the function",
        r"export\(jax\.jit\(f\)\)",
    ),
    "export called with another shape": Row(
        lambda: export.export(jax.jit(lambda x: x))(V).call(jnp.ones(4)),
        ValueError,
        r"f32\[4\]",
        "for such arguments too",
    ),
    "sizes without a comma": Row(
        lambda: export.symbolic_shape("b c"), ValueError, "'b c', with 'c'", "Write sizes"
    ),
    "callback that returns another shape": Row(
        lambda: jax.pure_callback(
            lambda x: np.ones(4, np.float32), SCALAR, 1.0
        ).block_until_ready(),
        ValueError,
        r"float32\[4\]",
        "change result_shape_dtypes",
    ),
    "callback without a dtype": Row(
        lambda: jax.pure_callback(np.sin, (3,), V), TypeError, "3 of type int", "ShapeDtypeStruct"
    ),
    "check in a program": Row(
        lambda: jax.jit(lambda x: checkify.check(x > 0, "no"))(1.0),
        ValueError,
        "a staged program",
        r"checkify\.checkify\(f\)",
    ),
    "check per element": Row(
        lambda: checkify.check(V > 0, "no"), TypeError, r"bool\[3\]", r"jnp\.all\(condition\)"
    ),
    # Products, convolutions, transforms, pictures and sparse arrays.
    "einsum, result": Row(
        lambda: jnp.einsum("ij,jk->il", X, X.T), ValueError, r"'ij,jk->il'", r"'ij,jk->ik'"
    ),
    "einsum without subscripts": Row(
        lambda: jnp.einsum(X, X), TypeError, r"float32\[2,3\] where axes", r'einsum\("ij,jk->ik"'
    ),
    "einsum, sizes": Row(
        lambda: jnp.einsum("ij,j->i", X, jnp.ones(2)),
        ValueError,
        r"\(2, 3\) and \(2,\)",
        "Transpose",
    ),
    "conv letters": Row(
        lambda: lax.conv_general_dilated(
            jnp.ones((1, 8, 8, 3)),
            jnp.ones((3, 3, 3, 4)),
            (1, 1),
            "SAME",
            None,
            None,
            ("NHWC",) * 2,
        ),
        ValueError,
        r"\('NHWC', 'NHWC'\)",
        r'\("NHWC", "HWIO", "NHWC"\)',
    ),
    "conv strides": Row(
        lambda: lax.conv_general_dilated(
            jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3)), (1,), "SAME"
        ),
        ValueError,
        r"\(1,\)",
        "all but the batch and the features",
    ),
    "fft along a missing axis": Row(
        lambda: jnp.fft.fft(V, axis=1), ValueError, "axis 1 of", "Name an axis"
    ),
    "fft, norm": Row(lambda: jnp.fft.fft(V, norm="unitary"), ValueError, "'unitary'", "Leave it"),
    "rfft of complex numbers": Row(
        lambda: jnp.fft.rfft(V + 1j), ValueError, r"complex64\[3\]", r"use jnp\.fft\.fft\."
    ),
    "resize by an unknown method": Row(
        lambda: jax.image.resize(X, (4, 4), "bilinearr"), ValueError, "'bilinearr'", "Choose"
    ),
    "resize without channels": Row(
        lambda: jax.image.resize(X, (4,), "linear"), ValueError, r"\(4,\) for an image", "all sizes"
    ),
    "coordinates for too few axes": Row(
        lambda: ndimage.map_coordinates(X, [V], order=1), ValueError, "1 arrays", "list of arrays"
    ),
    "sine of a sparse array": Row(
        lambda: jnp.sin(sparse.BCOO.fromdense(X)), TypeError, "BCOO", r"x\.todense\(\)"
    ),
    "minimum by an unknown method": Row(
        lambda: jax.scipy.optimize.minimize(lambda x: x @ x, V, method="adam"),
        ValueError,
        "'adam'",
        "method='BFGS'",
    ),
    # Layouts.
    "axis that no mesh has": Row(
        lambda: jax.device_put(V, jax.NamedSharding(MESH, jax.P("y"))), ValueError, "'y'", "are 'x'"
    ),
    "layout of too many axes": Row(
        lambda: jax.device_put(V, jax.NamedSharding(MESH, jax.P(None, "x"))),
        ValueError,
        "speaks of 2 axes, for an array of 1",
        "Leave out",
    ),
    "layout without a mesh": Row(
        lambda: lax.with_sharding_constraint(V, jax.P("x")),
        RuntimeError,
        "no current mesh",
        "set_mesh",
    ),
    "platform for a device": Row(
        lambda: jax.device_put(V, "cpu"), ValueError, "'cpu' of type str", r"jax\.devices\(\)"
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_says_what_was_given_and_how_to_mend_it(name: str) -> None:
    call, error, given, fix = MISTAKES[name]
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    parts = re.fullmatch(
        r"(?P<where>[^\n]*) \(at (?P<place>[^\n]*)\)\n"
        r"  given:    (?P<given>[\s\S]*)\n  expected: (?P<expected>[\s\S]*)\n"
        r"  fix:      (?P<fix>[\s\S]*)",
        text,
    )
    assert parts, text
    assert __file__ in parts["place"]
    assert re.search(given, parts["given"]), text
    assert re.search(fix, parts["fix"]), text
    # Addresses differ from run to run, and say nothing.
    assert " at 0x" not in text or name in ("object", "generator")
