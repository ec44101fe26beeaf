"""RMS normalisation in C++, under jit, grad and vmap: ``python examples/ffi/rms_norm.py``.

The C++ source is compiled into a temporary folder: by CMake if there is one, else by the compiler
alone.  The handlers treat all axes but the last as a batch, so `vmap` makes one call.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp

SOURCES = Path(__file__).resolve().parent


def build(folder: Path) -> Path:
    """Compile the handlers; the path of the library."""
    headers, library = jax.ffi.include_dir(), folder / "rms_norm.so"
    if shutil.which("cmake"):
        options = [f"-DXLA_HEADERS={headers}", "-DCMAKE_BUILD_TYPE=Release"]
        configure = ["cmake", "-S", str(SOURCES), "-B", str(folder), *options]
        commands = [configure, ["cmake", "--build", str(folder)]]
    else:
        flags = ["-O2", "-w", "-std=c++17", "-shared", "-fPIC", f"-I{headers}"]
        commands = [["c++", *flags, str(SOURCES / "rms_norm.cc"), "-o", str(library)]]
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return library


def register(path: Path) -> None:
    """Make the handlers known to XLA."""
    library = ctypes.CDLL(str(path))
    for name in ("rms_norm_forward", "rms_norm_backward"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)))


def forward(x: Any, eps: float) -> tuple[Any, Any]:
    """The normalised rows, and what each was scaled by."""
    specs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in (x.shape, x.shape[:-1])]
    call = jax.ffi.ffi_call("rms_norm_forward", specs, vmap_method="broadcast_all")
    # A C++ float is a NumPy float32; a Python float would be a double.
    normalised, scale = call(x, eps=np.float32(eps))
    return normalised, scale


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def rms_norm(x: Any, eps: float = 1e-5) -> Any:
    """``x / sqrt(mean(x², -1) + eps)``, for rows of float32."""
    return forward(x, eps)[0]


def rms_norm_fwd(x: Any, eps: float) -> tuple[Any, Any]:
    y, scale = forward(x, eps)
    return y, (scale, x)


def rms_norm_bwd(eps: float, residuals: Any, ct: Any) -> tuple[Any]:
    scale, x = residuals
    spec = jax.ShapeDtypeStruct(x.shape, jnp.float32)
    call = jax.ffi.ffi_call("rms_norm_backward", spec, vmap_method="broadcast_all")
    return (call(scale, x, ct),)


rms_norm.defvjp(rms_norm_fwd, rms_norm_bwd)


def reference(x: Any, eps: float = 1e-5) -> Any:
    """The same in jnp."""
    return x / jnp.sqrt(jnp.mean(x**2, -1, keepdims=True) + eps)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        register(build(Path(folder)))
    x = jax.random.normal(jax.random.key(0), (4, 3, 8))

    def loss(norm: Any, x: Any) -> Any:
        return jnp.sum(jnp.sin(norm(x)) * jnp.arange(8.0))

    programs = {
        "eager": lambda norm: norm(x),
        "jit": lambda norm: jax.jit(norm)(x),
        "vmap": lambda norm: jax.vmap(norm, in_axes=1, out_axes=1)(x),
        "grad": lambda norm: jax.grad(partial(loss, norm))(x),
        "jit of vmap of grad": lambda norm: jax.jit(jax.vmap(jax.grad(partial(loss, norm))))(x),
    }
    for name, program in programs.items():
        difference = float(jnp.max(jnp.abs(program(rms_norm) - program(reference))))
        print(f"{name:20} largest difference from jnp: {difference:.1e}")
        assert difference < 1e-5


if __name__ == "__main__":
    main()
