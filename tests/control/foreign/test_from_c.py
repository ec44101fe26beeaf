"""from_c: C sources, function pointers and ufuncs as operations; what is refused, and how."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import morphax as jax
import morphax.numpy as jnp
from morphax.control.foreign import loops as foreign_loops
from morphax.experimental import serialize_executable
from morphax.ffi import from_c
from morphax.test_util import check_grads
from tests.lax.engines import check_engines_agree

ENGINES = pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
POWER = "#include <math.h>\ndouble power(double x, double y) { return pow(x, y); }"
MATMUL = """
void matmul(const float* a, const float* b, int64_t m, int64_t k, int64_t n, float* out) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      out[i * n + j] = sum;
    }
}
"""
A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(scope="module")
def power() -> Any:
    made = from_c(POWER, derivative=lambda x, y: (y * made(x, y - 1), jnp.log(x) * made(x, y)))
    return made


@pytest.fixture(scope="module")
def matmul() -> Any:
    return from_c(MATMUL, shapes="(m, k), (k, n) -> (m, n)")


@ENGINES
@pytest.mark.parametrize(
    "shapes", [((), ()), ((3,), ()), ((), (3,)), ((3,), (2, 1)), ((0,), ()), ((2, 3), (2, 3))]
)
def test_elementwise(engine: Any, power: Any, shapes: Any) -> None:
    x, y = [jnp.asarray(np.linspace(1, 2, int(np.prod(s))).reshape(s), np.float32) for s in shapes]
    np.testing.assert_allclose(engine(power)(x, y), np.power(x, y), rtol=1e-6)


def test_special_values(power: Any) -> None:
    special = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan], np.float32)
    x, y = map(np.ravel, np.meshgrid(special, special))
    result = check_engines_agree(power, x, y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(result, np.power(x.astype(float), y).astype(np.float32))


def test_double_is_computed_as_such(power: Any) -> None:
    # Rounded once, from double precision.
    x = np.float32(1.1)
    assert power(x, np.float32(10)) == np.float32(float(x) ** 10)
    with jax.enable_x64(True):
        assert power(1.1, 10.0) == 1.1**10
        assert jax.jit(power)(1.1, 10.0) == 1.1**10


def test_derivatives(power: Any) -> None:
    with jax.enable_x64(True):
        check_grads(power, (np.array([1.5, 2.0]), 0.7), 2)
    assert jax.grad(power, 1)(1.0, 3.0) == 0
    rows = jax.jit(jax.vmap(jax.grad(power), (0, None)))(jnp.arange(1.0, 4.0), 2.0)
    np.testing.assert_allclose(rows, [2, 4, 6], rtol=1e-6)


def test_no_derivative() -> None:
    square = from_c("float square(float x) { return x * x; }")
    with pytest.raises(ValueError, match=r"differentiation of the foreign function square"):
        jax.grad(square)(2.0)


@pytest.mark.parametrize(
    ("derivative", "text"),
    [
        (lambda x: (x, x), "2 values"),
        (lambda x: None, "given:    None"),
        (lambda x: 1, "int32"),
        (lambda x: jnp.ones(7), r"float32\[7\]"),
    ],
)
def test_wrong_derivatives(derivative: Any, text: str) -> None:
    f = from_c("float f(float x) { return x; }", derivative=derivative)
    with pytest.raises(TypeError, match=text):
        jax.grad(f)(2.0)


@ENGINES
def test_arrays(engine: Any, matmul: Any) -> None:
    product = engine(matmul)
    np.testing.assert_array_equal(product(A, B), A @ B)
    np.testing.assert_array_equal(product(A, np.stack([B, B + 1])), A @ np.stack([B, B + 1]))
    assert product(A[:, :0], B[:0]).tolist() == np.zeros((2, 4)).tolist()
    assert product(np.zeros((0, 2, 3), np.float32), B).shape == (0, 2, 4)


@ENGINES
@pytest.mark.parametrize("axes", [(0, None), (None, 0), (1, 2), (2, 0)])
def test_vmap(engine: Any, matmul: Any, axes: Any) -> None:
    operands, members = [], []
    for x, axis in zip((A, B), axes, strict=True):
        rows = x if axis is None else np.stack([x, 2 * x, -x])
        members.append(rows)
        operands.append(rows if axis is None else np.moveaxis(rows, 0, axis))
    out = engine(jax.vmap(matmul, axes))(*operands)
    np.testing.assert_array_equal(out, members[0] @ members[1])


def test_vmap_of_batches(matmul: Any) -> None:
    a, b = np.stack([A] * 5), np.stack([B, 2 * B])
    out = jax.vmap(jax.vmap(matmul, (None, 0)), (0, None))(a, b)
    np.testing.assert_array_equal(out, a[:, None] @ b[None])
    outer = jax.vmap(matmul, (0, None))(np.stack([a, 2 * a]), B)
    np.testing.assert_array_equal(outer, np.stack([a, 2 * a]) @ B)


def test_vmap_of_numbers_and_arrays() -> None:
    add = from_c("float add(float x, float y) { return x + y; }")
    x, y = np.arange(3, dtype=np.float32), np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(jax.vmap(add, (0, None))(x, y), x[:, None] + y)
    np.testing.assert_array_equal(jax.vmap(add, (None, 0))(x, y), x + y[:, None])


SEVERAL = """
int divide(const int32_t* x, int32_t by, size_t n, int32_t* quotient, bool *is_whole) {
  if (by == 0) return 33;
  for (size_t i = 0; i < n; ++i) { quotient[i] = x[i] / by; is_whole[i] = x[i] % by == 0; }
  return 0;
}
"""


@ENGINES
def test_several_results_and_error_codes(engine: Any) -> None:
    divide = from_c(SEVERAL, shapes="(n), () -> (n), (n)")
    quotient, is_whole = engine(divide)(jnp.arange(4), 2)
    assert quotient.tolist() == [0, 0, 1, 1]
    assert is_whole.tolist() == [True, False, True, False]
    with pytest.raises(RuntimeError, match="error code 33"):
        jax.block_until_ready(engine(divide)(jnp.arange(4), 0))


@pytest.mark.parametrize(
    ("c_type", "dtype"),
    [
        *[(f"{s}int{b}_t", f"{s}int{b}") for s in ("", "u") for b in (8, 16, 32, 64)],
        *[("float", "float32"), ("double", "float64"), ("unsigned long long", "uint64")],
        *[("bool", "bool"), ("float complex", "complex64"), ("double _Complex", "complex128")],
    ],
)
def test_types(c_type: str, dtype: str) -> None:
    same = from_c(f"{c_type} same({c_type} x) {{ return x; }}")
    copy = from_c(
        f"void copy(const {c_type} *x, int n, {c_type}* y)"
        "{ for (int i = 0; i < n; ++i) y[i] = x[i]; }",
        shapes="(n) -> (n)",
    )
    limits = np.iinfo(dtype) if "int" in dtype else None
    values = [0, 1] if limits is None else [limits.min, limits.max]
    with jax.enable_x64(True):
        x = np.array(values, dtype)
        for result in (same(x), jax.jit(same)(x), copy(x), jax.jit(copy)(x)):
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, x)


def test_integers_that_would_lose_bits() -> None:
    wide = from_c("int64_t wide(int64_t x) { return x + (1ll << 40); }")
    with pytest.raises(TypeError, match="64-bit numbers, which are off"):
        wide(1)
    parity = from_c("int32_t parity(int64_t x) { return x & 1; }")
    assert parity(jnp.arange(3)).tolist() == [0, 1, 0]


def test_ctypes_pointers() -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    hypot = library.hypot
    with pytest.raises(ValueError, match="whose types are not known"):
        from_c(hypot)
    text = "double hypot(double x, double y)"
    expected = np.hypot(3.0, np.arange(3.0))
    address = ctypes.cast(hypot, ctypes.c_void_p).value
    typed = ctypes.CDLL(ctypes.util.find_library("m")).hypot
    typed.argtypes, typed.restype = [ctypes.c_double] * 2, ctypes.c_double
    for f in (from_c(hypot, text), from_c(address, text), from_c(typed)):
        np.testing.assert_allclose(jax.jit(f)(3.0, jnp.arange(3.0)), expected, rtol=1e-6)
        np.testing.assert_allclose(f(3.0, jnp.arange(3.0)), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="which ctypes knows"):
        from_c(typed, "float hypot(float x, float y)")


def test_pointers_to_python() -> None:
    """What ctypes makes of a Python function takes the interpreter's lock by itself."""
    kind = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_float))

    def swap(x: Any, out: Any) -> None:
        out[0], out[1] = x[1], x[0]

    f = from_c(kind(swap), shapes="(2) -> (2)")
    assert f(np.float32([1, 2])).tolist() == jax.jit(f)(np.float32([1, 2])).tolist() == [2, 1]


class NumbaFunction:
    """A stand-in for what `numba.cfunc` makes: an address, and the types as ctypes has them."""

    def __init__(self) -> None:
        kind = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)
        self.ctypes = kind(lambda x: x + 1)
        self.address = ctypes.cast(self.ctypes, ctypes.c_void_p).value


def test_functions_of_numba() -> None:
    assert jax.jit(from_c(NumbaFunction()))(2.0) == 3


@pytest.mark.parametrize("ufunc", [np.hypot, np.arctan2, special.hyp2f1, special.j0, np.divmod])
def test_ufuncs(ufunc: np.ufunc) -> None:
    f = from_c(ufunc)
    operands = [np.linspace(0.1, 0.9, 5).astype(np.float32) + i for i in range(ufunc.nin)]
    expected = ufunc(*operands)
    for result in (f(*operands), jax.jit(f)(*operands)):
        np.testing.assert_array_equal(result, expected)


def test_ufuncs_know_their_dtypes() -> None:
    f = from_c(np.floor_divide)
    assert f(jnp.arange(3), 2).dtype == jnp.int32
    assert f(jnp.arange(3.0), 2).dtype == jnp.float32
    with pytest.raises(TypeError, match=r"given: +float32\[\], int32\[1\]"):
        f(jnp.float32(1), jnp.arange(1))


def test_derivatives_of_ufuncs() -> None:
    j0 = from_c(special.j0, derivative=lambda x: -j1(x))
    j1 = from_c(special.j1)
    np.testing.assert_allclose(jax.grad(j0)(0.5), -special.j1(0.5), rtol=1e-6)


def test_equal_sources_are_one_function() -> None:
    text = "float same(float x) { return x; }"
    first, second = from_c(text), from_c(text)
    assert first._loops == second._loops
    other = from_c("float same(float x) { return -x; }")
    assert (first(1.0), other(1.0)) == (1, -1)
    assert jax.jit(lambda x: first(x) + other(x))(1.0) == 0


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "kind": (lambda: from_c(3.5), TypeError, "argument function"),
    "null": (lambda: from_c(0, "float f(float x)"), ValueError, "argument function"),
    "no function": (lambda: from_c("int x;"), ValueError, r"with the functions \[\]"),
    "two functions": (
        lambda: from_c("float f(float x) { return x; }\nfloat g(float x) { return x; }"),
        ValueError,
        r"\['float f\(float x\)', 'float g\(float x\)'\]",
    ),
    "no prototype": (lambda: from_c("", "f"), ValueError, "argument prototype"),
    "no such type": (lambda: from_c("", "quad f(quad x)"), ValueError, "'quad'"),
    "pointers to pointers": (lambda: from_c("", "void f(float** x)"), ValueError, "one pointer"),
    "nothing taken": (lambda: from_c("", "float f(void)"), ValueError, "takes nothing"),
    "too much taken": (
        lambda: from_c("", f"float f({', '.join(f'float x{i}' for i in range(40))})"),
        ValueError,
        "at most 31",
    ),
    "nothing given": (lambda: from_c("", "void f(float x)"), ValueError, "returns a number"),
    "number and arrays": (lambda: from_c("", "float f(float* x)"), ValueError, "returns void"),
    "no shapes": (lambda: from_c("", "void f(float* x)"), ValueError, "argument shapes"),
    "shapes": (lambda: from_c("", "void f(float* x)", shapes="n"), ValueError, "'n'"),
    "unknown size": (
        lambda: from_c("", "void f(const float* x, float* y)", shapes="(n) -> (m)"),
        ValueError,
        "names of sizes of operands",
    ),
    "other shapes": (
        lambda: from_c("", "void f(const float* x, float* y)", shapes="(n), (n) -> (n)"),
        ValueError,
        r"operands const float\* x; results float\* y",
    ),
    "shapes of numbers": (
        lambda: from_c("", "float f(float x)", shapes="(n) -> (n)"),
        ValueError,
        "takes no pointers",
    ),
    "array by value": (
        lambda: from_c("", "void f(float x, float* y)", shapes="(n) -> (n)"),
        ValueError,
        r"\(\) for numbers",
    ),
    "no compiler": (
        lambda: from_c(POWER, compiler="/no/such/cc"),
        FileNotFoundError,
        "apt install gcc",
    ),
    "syntax": (
        lambda: from_c("float f(float x) { return y; }"),
        ValueError,
        r"source:1:\d+: error: .*y",
    ),
    "another prototype": (
        lambda: from_c("float f(float x) { return x; }", "double f(double x)"),
        ValueError,
        r"conflicting types(.|\n)*a prototype that is that of the definition",
    ),
    "missing symbol": (
        lambda: from_c("float g(float); float f(float x) { return g(x); }"),
        ValueError,
        "missing is g",
    ),
    "missing function": (lambda: from_c("", "float f(float x)"), ValueError, "missing is f"),
    "objects": (lambda: from_c(np.frompyfunc(abs, 1, 1)), TypeError, "pure_callback"),
    "rows": (lambda: from_c(np.matmul), TypeError, "pure_callback"),
    "ufunc with shapes": (lambda: from_c(np.sin, shapes="() -> ()"), ValueError, "ufunc alone"),
    "derivative": (lambda: from_c(np.sin, derivative=3), TypeError, "argument derivative"),
    "derivative of arrays": (
        lambda: from_c(MATMUL, shapes="(m,k),(k,n)->(m,n)", derivative=lambda a, b: (b, a)),
        ValueError,
        "custom_vjp",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text) as raised:
        call()
    assert all(part in str(raised.value) for part in ("given:", "expected:", "fix:"))


@pytest.mark.parametrize(
    ("operands", "error", "text"),
    [
        ((A,), TypeError, r"given: +float32\[2,3\]"),
        ((A, B.astype(np.int32)), TypeError, "expected: float32, float32"),
        ((A, [1.0]), TypeError, "argument number 1"),
        ((A, A), ValueError, r"operand 1(.|\n)*shape \(2, 3\), where m = 2, k = 3"),
        ((A, B[0]), ValueError, r"operand 1(.|\n)*shape \(4,\)"),
        ((np.stack([A] * 2), np.stack([B] * 3)), ValueError, "broadcast"),
    ],
)
def test_operands_that_are_refused(
    matmul: Any, operands: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        matmul(*operands)


def test_python_numbers_keep_their_kind() -> None:
    add = from_c("int32_t add(int32_t x, int32_t y) { return x + y; }")
    assert add(jnp.arange(2), 1).tolist() == [1, 2]
    assert from_c("float same(float x) { return x; }")(1) == 1
    with pytest.raises(TypeError, match="int32, int32"):
        add(jnp.arange(2), 1.5)


SCRIPT = """
import sys
import numpy as np
import morphax as jax
from morphax.control.foreign import c_compiler
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
compiled, compile_now = [], c_compiler._compile
c_compiler._compile = lambda *args: compiled.append(args) or compile_now(*args)
text = "float add(float x, float y) { return x + y; }"
print(jax.jit(jax.ffi.from_c(text))(1.0, np.ones(2, np.float32)), len(compiled))
"""


def run(folder: Path) -> str:
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_sources_are_compiled_once(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert run(folder) == "[2. 2.] 1\n"
    assert run(folder) == "[2. 2.] 0\n"
    assert folder.stat().st_mode & 0o777 == 0o700
    # What is damaged is compiled again.
    for entry in folder.glob("*.executable"):
        content = bytearray(entry.read_bytes())
        content[len(content) // 2] ^= 1
        entry.write_bytes(content)
    assert run(folder) == "[2. 2.] 1\n"


def test_sources_that_include_files_are_compiled_each_time(tmp_path: Path) -> None:
    header = tmp_path / "factor.h"
    text = '#include "factor.h"\nfloat scale(float x) { return FACTOR * x; }'
    for factor in (2, 3):
        header.write_text(f"#define FACTOR {factor}\n")
        assert from_c(text, flags=[f"-I{tmp_path}"])(1.0) == factor


def test_programs_with_addresses_stay_in_the_process() -> None:
    pointer = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(lambda x: x)
    compiled = jax.jit(from_c(pointer)).lower(1.0).compile()
    with pytest.raises(ValueError, match="calls Python or an address"):
        serialize_executable.serialize(compiled)


def test_twin() -> None:
    """Without native code Python calls the loops."""
    programs = f"""
import numpy as np, morphax as jax
f = jax.ffi.from_c({MATMUL!r}, shapes="(m, k), (k, n) -> (m, n)")
h = jax.ffi.from_c(np.hypot)
a = np.ones((5, 2, 3), np.float32)
for run in (lambda f: f, jax.jit):
    print(run(f)(a, a[0].T).sum(), run(h)(3.0, np.full((2, 1), 4, np.float32)).tolist())
"""
    expected = "60.0 [[5.0], [5.0]]\n" * 2
    environment = os.environ | {"MORPHAX_CORE": "python"}
    command = [sys.executable, "-c", programs]
    out = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (out.stdout, out.stderr) == (expected, "")


def test_native_code_checks_what_it_is_given() -> None:
    native = foreign_loops.native
    if native is None:
        pytest.skip("without native code")
    (loop,) = from_c("float one(float x) { return 1; }")._loops
    x = np.zeros(3, np.float32)
    for arguments, error in (
        ((loop.number, [x], (3,), (4, 4)), ValueError),
        ((loop.number, [x, x, x], (3,), (4, 4, 4)), ValueError),
        ((loop.number, [x, 3], (3,), (4, 4)), TypeError),
        ((loop.number, (x, x), (3,), (4, 4)), TypeError),
        ((loop.number, [x, x], (3,), (4, "a")), TypeError),
        ((loop.number, [x, x], (0,) * 40, (4, 4)), ValueError),
        ((loop.number ^ 1, [x, x], (3,), (4, 4)), KeyError),
    ):
        with pytest.raises(error):
            native.run(*arguments)
    with pytest.raises(TypeError):
        native.loops_of(abs)
