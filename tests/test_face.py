"""What users see of the package: documented names, a light import, nothing private."""

from __future__ import annotations

import builtins
import inspect
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

import morphax

# The public modules; each is importable by its path below `morphax`.
MODULES = (
    "ad",
    "ad_checkpoint",
    "api_util",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "distributed",
    "dlpack",
    "dtypes",
    "errors",
    "export",
    "example_libraries",
    "example_libraries.optimizers",
    "example_libraries.stax",
    "extend",
    "extend.backend",
    "extend.core",
    "extend.core.primitives",
    "extend.linear_util",
    "extend.lowering",
    "extend.mlir",
    "extend.mlir.dialects",
    "extend.random",
    "extend.source_info_util",
    "experimental.checkify",
    "experimental.jet",
    "experimental.key_reuse",
    "experimental.ode",
    "experimental.random",
    "ffi",
    "flatten_util",
    "image",
    "interpreters",
    "interpreters.ad",
    "interpreters.batching",
    "interpreters.mlir",
    "interpreters.partial_eval",
    "interpreters.xla",
    "lax",
    "lax.linalg",
    "memory",
    "monitoring",
    "nn",
    "nn.initializers",
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "ops",
    "profiler",
    "random",
    "ref",
    "science.integrate",
    "science.interpolate",
    "science.linalg",
    "science.ndimage",
    "science.optimize",
    "science.signal",
    "science.sparsity",
    "scipy.cluster.vq",
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.spatial.transform",
    "scipy.special",
    "scipy.stats",
    "sharding",
    "stages",
    "tools",
    "test_util",
    "tree",
    "tree_util",
    "typing",
)
HEAVY = ("jaxlib", "scipy", "jax", "opt_einsum", "matplotlib", "sklearn")


def module(path: str) -> ModuleType:
    __import__(f"morphax.{path}")
    return sys.modules[f"morphax.{path}"]


def public(path: str) -> dict[str, Any]:
    """Public functions and classes of a module, with those that it loads on demand."""
    home = module(path) if path else morphax
    return {
        name: value
        for name, value in ((name, getattr(home, name)) for name in dir(home))
        if not name.startswith("_") and (inspect.isroutine(value) or inspect.isclass(value))
    }


@pytest.mark.parametrize("path", ["", *MODULES])
def test_every_public_name_is_documented(path: str) -> None:
    own = {
        name: value
        for name, value in public(path).items()
        if getattr(value, "__module__", "").startswith("morphax")
    }
    assert not [name for name, value in own.items() if not inspect.getdoc(value)]


@pytest.mark.parametrize("path", MODULES)
def test_every_public_module_is_documented(path: str) -> None:
    assert module(path).__doc__


def test_import_loads_nothing_heavy() -> None:
    program = f"import sys, morphax; print([name for name in {HEAVY} if name in sys.modules])"
    command = [sys.executable, "-W", "error", "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_eager_operations_load_no_compiler() -> None:
    program = (
        "import sys, morphax.numpy as jnp; jnp.sin(jnp.arange(3.0)).sum().item(); "
        "print('jaxlib' in sys.modules)"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_subpackages_are_imported_on_demand() -> None:
    program = (
        "import sys, morphax; loaded = 'morphax.extend' in sys.modules; "
        "print(loaded, 'extend' in dir(morphax), morphax.extend.core.Primitive('p'), "
        "morphax.interpreters.ad.Zero.__name__, hasattr(morphax, 'absent'))"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert result == "False True p Zero False\n"


def test_version() -> None:
    assert morphax.__version__ == ".".join(map(str, morphax.__version_info__))


@pytest.mark.parametrize("name", ["get_mesh", "get_abstract_mesh", "set_mesh", "use_abstract_mesh"])
def test_meshes_in_force_are_asked_for_in_two_places(name: str) -> None:
    assert getattr(morphax, name) is getattr(morphax.sharding, name)


def test_the_public_face_of_the_package() -> None:
    """Attributes that are no part of JAX's face are the packages that the face is made from."""
    modules = {name for name, value in vars(morphax).items() if inspect.ismodule(value)}
    inner = {"array", "control", "core", "engines", "parallel", "runtime", "transforms", "util"}
    faces = {path.split(".")[0] for path in MODULES} | {"cache", "config"}
    assert {name for name in modules if not name.startswith("_")} - inner <= faces


@pytest.mark.parametrize("path", ["numpy", "lax", "nn", "random", "scipy.special"])
def test_no_foreign_functions(path: str) -> None:
    """What is public comes from this package, dtypes and constants of NumPy apart."""
    foreign = {
        name
        for name, value in public(path).items()
        if inspect.isroutine(value) and not (value.__module__ or "").startswith("morphax")
    }
    assert foreign <= {"can_cast"}  # a question about dtypes, which NumPy answers as it is


def test_names_taken_all_at_once_hide_no_type_of_python() -> None:
    taken: dict[str, object] = {}
    exec("from morphax.numpy import *", taken)
    modules = {name for name, value in taken.items() if isinstance(value, ModuleType)}
    assert not modules & set(dir(builtins))
