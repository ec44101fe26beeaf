"""What ``import morphax`` loads: a budget in modules, for each costs time at every start."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import pytest

import morphax
from morphax import core, extend, lax, nn, numpy, random

# More files than now would be loaded only if the reason is worth it to every user.
MOST_MODULES = 340
PARTS = {
    "_native", "array", "config", "core", "dtypes", "engines", "errors", "lax", "monitoring",
    "numpy", "runtime", "transforms", "tree", "util",
}  # fmt: skip
TRANSFORMS = {"batching", "flattening", "mapped_references", "vmap", "vmappable"}
OF_OTHERS = {"ml_dtypes", "numpy"}
# Parts of Python that take long, and that no array needs.
HEAVY = {
    "asyncio", "concurrent", "ctypes.util", "email", "http", "importlib.metadata",
    "multiprocessing", "socket", "sqlite3", "ssl", "tempfile", "unittest", "xml", "zipfile",
}  # fmt: skip
FIRST_ARRAY = "import morphax; morphax.numpy.zeros(3); import sys; print(*sys.modules)"


def loaded_by(program: str) -> set[str]:
    """The modules that a fresh process has after `program`, which prints them."""
    command = [sys.executable, "-c", program]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_an_array_needs_few_modules() -> None:
    before = loaded_by("import numpy, ml_dtypes, sys; print(*sys.modules)")
    added = loaded_by(FIRST_ARRAY) - before
    ours = {name for name in added if name.partition(".")[0] == "morphax"}
    assert len(ours) <= MOST_MODULES
    assert {name.split(".")[1] for name in ours if "." in name} <= PARTS
    assert {n.split(".")[2] for n in ours if n.startswith("morphax.transforms.")} <= TRANSFORMS
    tops = {name.partition(".")[0] for name in added - ours}
    assert tops - set(sys.stdlib_module_names) <= OF_OTHERS
    assert not {name for name in added if name in HEAVY or name.partition(".")[0] in HEAVY}


def test_tracing_loads_no_extension_of_numpy() -> None:
    """Ctrl-C in the middle of that would leave it half loaded for good."""
    program = "jax.make_jaxpr(lambda x: jax.lax.scan(lambda c, a: (c * a, c), 1.0, x))(np.ones(3))"
    head = "import sys, numpy as np, morphax as jax; "
    assert "numpy.fft" not in loaded_by(f"{head}{program}; print(*sys.modules)")


@pytest.mark.parametrize("package", [morphax, core, extend, lax, nn, numpy, random])
def test_names_on_demand_are_those_that_type_checkers_see(package: object) -> None:
    """Each import under TYPE_CHECKING gives what asking the package gives, and the reverse."""
    source = Path(package.__file__).read_text(encoding="utf-8")  # type: ignore[attr-defined]
    (block,) = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    declared = {a.asname: n for n in block.body for a in n.names}  # type: ignore[attr-defined]
    for name, node in declared.items():
        value = getattr(package, name)
        module = resolve_name("." * node.level + (node.module or ""), package.__name__)  # type: ignore[attr-defined]
        assert node.module is None or getattr(sys.modules[module], name) is value
    table = ast.parse(source).body[-1].value.args  # type: ignore[attr-defined]
    listed = {*ast.literal_eval(table[1])}
    listed |= {name for names in ast.literal_eval(table[2]).values() for name in names}
    assert listed == set(declared)


def test_unknown_names_are_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'morphax' has no attribute 'no_such_name'"):
        _ = morphax.no_such_name
    assert not hasattr(lax, "no_such_name")


@pytest.mark.parametrize("package", [morphax, core, extend, lax, nn, numpy, random])
def test_names_on_demand_are_those_of_no_file(package: Any) -> None:
    """Whoever imports a file of a package puts the module in the place of what has its name."""
    folder = Path(package.__file__).parent
    files = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    places = inspect.getclosurevars(package.__getattr__).nonlocals["places"]
    assert places.keys() & files == set()


@pytest.mark.parametrize("package", ["", ".lax", ".nn", ".numpy", ".random"])
def test_names_on_demand_come_with_a_star(package: str) -> None:
    names = f"import morphax{package} as p; print(*[n for n in dir(p) if n[0] != '_'])"
    star = f"from morphax{package} import *; print(*[n for n in dir() if n[0] != '_'])"
    assert loaded_by(names) == loaded_by(star)


def test_names_on_demand_are_listed() -> None:
    assert {"grad", "jit", "random", "vmap"} <= set(dir(morphax))
    assert {"cond", "scan", "psum"} <= set(dir(lax))


def loaded_by_native_programs(folder: Path) -> set[str]:
    """The modules that a process with a compile cache has after native programs, called twice."""
    program = (
        "import sys, numpy as np, morphax as jax, morphax.numpy as jnp\n"
        f"jax.config.update('jax_compilation_cache_dir', {str(folder)!r})\n"
        "f = jax.jit(lambda x, y: jnp.sin(x) * 2 + x.sum() * y)\n"
        "for x in (np.ones(4, np.float32), jnp.ones(4), np.ones(5, np.float32)):\n"
        "    f(x, 2.0), f(x, 3), float(f(x, np.float32(1))[0])\n"
        "g = jax.jit(jax.grad(lambda x: f(x, 1.0).sum()))\n"
        "jax.block_until_ready(g(jnp.ones(4)))\n"
        "jax.lax.scan(lambda c, x: (c + x, c), 0.0, jnp.ones(50))\n"
        "print(*sys.modules)"
    )
    return loaded_by(program)


def test_native_programs_need_no_jaxlib_and_kept_ones_no_llvm(tmp_path: Path) -> None:
    first = loaded_by_native_programs(tmp_path)
    assert "llvmlite.binding" in first
    assert "jaxlib" not in first
    assert not {"jaxlib", "llvmlite.binding"} & loaded_by_native_programs(tmp_path)
