"""The distribution `dropin`: what a program finds under the name `jax`.

Each test runs programs in processes of their own, for the name must not be taken in this one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import morphax

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "dropin" / "src"


def run(program: str, *folders: Path) -> str:
    """What a program prints, with the drop-in, and `folders` before it, on its path."""
    path = [*folders, SOURCE, Path(morphax.__file__).parents[1]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [sys.executable, "-W", "error", "-c", program]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_package_that_has_another_name_finds_its_modules() -> None:
    run("""
import pkgutil
import jax.numpy as jnp
assert jnp.minimum(1, 2) == 1  # the first that is asked for
import morphax.numpy
for module in pkgutil.iter_modules(morphax.numpy.__path__):
    exec(f"from morphax.numpy import {module.name} as found")
    twin = getattr(morphax.numpy, module.name)
    assert found is twin, module.name
try:
    import jax.numpy.nothing
except ModuleNotFoundError as error:
    assert "jax.numpy.nothing" in str(error)
""")


def test_modules_and_objects_are_those_of_morphax() -> None:
    run("""
import sys, importlib
import jax, morphax
sys.path.insert(0, "")
from jax._dropin.paths import MODULES, NAMED
found = 0
for path in sorted(MODULES, key=lambda path: path[::-1]):  # in no order of packages
    try:
        theirs = importlib.import_module(f"morphax.{path}")
    except ModuleNotFoundError as error:
        assert error.name.startswith(("morphax.", "absl", "flatbuffers", "tensor")), error
        continue
    found += 1
    ours = importlib.import_module(f"jax.{path}")
    assert ours is theirs and sys.modules[f"jax.{path}"] is theirs
    assert ours.__spec__.name == f"morphax.{path}"
    # Some are recognised by their name.
    assert ours.__name__ == (f"jax.{path}" if path in NAMED else f"morphax.{path}")
    value = jax
    for name in path.split("."):
        value = getattr(value, name)
    # A name of a package may be that of a function as well as that of a module.
    assert value is theirs or callable(value), path
assert found > 100
for name in ("jit", "grad", "Array", "P", "config", "float0", "typeof", "checkpoint_policies"):
    assert getattr(jax, name) is getattr(morphax, name)
assert jax.core.Tracer is morphax.core.Tracer
from jax import config, tree_util
assert config is morphax.config and tree_util is morphax.tree_util
""")


@pytest.mark.parametrize(
    "first",
    [
        "import jax.numpy.linalg", "from jax.scipy.stats import norm", "import jax.core",
        "from jax.experimental import checkify", "import jax.extend.core.primitives",
        "import morphax.numpy", "from jax._src.core import ShapedArray", "from jax import *",
    ],
)  # fmt: skip
def test_any_import_may_come_first(first: str) -> None:
    program = f"""
{first}
import jax, morphax, sys
assert jax.numpy.linalg is morphax.numpy.linalg is sys.modules["morphax.numpy.linalg"]
names = [name for name in sys.modules if name.startswith("jax.")]
files = [getattr(sys.modules[name], "__file__", None) for name in names]
ours = [sys.modules[n] for n, f in zip(names, files) if f and "morphax/" in f]
copies = [module for module in ours if module.__spec__.name.startswith("jax.")]
assert not copies, copies
"""
    run(program)


def test_star_import_takes_all() -> None:
    run("""
from jax import *
assert jit(lambda x: numpy.sin(x) + x)(0.0) == 0.0 and vmap and Array and random
""")


def test_what_jax_lacks_is_absent() -> None:
    run("""
import importlib, importlib.util
import jax
absent = '''science util array engines control runtime transforms cache parallel reverse_while
    tree_map tree_leaves tree_flatten linear_util device_put_replicated ArrayRef xla_computation
    Inline unstack annotations _native numpy.lax_numpy numpy.random numpy.fix numpy.product
    random.PRNGKeyArray random.KeyArray core.Jaxpr core.Literal core.Var core.get_aval core.TraceTag
    core.raise_to_shaped core.set_current_trace core.stage lib.xla_bridge lib.xla_client
    errors.JAXRuntimeError experimental.enable_x64 sharding.PmapSharding
    interpreters.xla.pytype_aval_mappings'''.split()
for path in absent:
    value, names = jax, path.split(".")
    for name in names[:-1]:
        value = getattr(value, name)
    assert not hasattr(value, names[-1]), path
for path in "util science numpy.creation numpy.numpy memory config core.trace foo".split():
    try:
        importlib.import_module(f"jax.{path}")
    except ModuleNotFoundError as error:
        assert error.name == f"jax.{path}"
    else:
        raise AssertionError(path)
assert importlib.util.find_spec("jax.util") is None is importlib.util.find_spec("jax.memory")
assert importlib.util.find_spec("jax.numpy") is not None
assert {"jit", "numpy", "core"} <= set(dir(jax)) and not {"util", "science"} & set(dir(jax))
""")


def test_deprecated_names_warn() -> None:
    run("""
import warnings
import jax
for name, fix in (
    ("find_top_trace", " Use jax.extend.core.find_top_trace."),
    ("JaxprTypeError", " Use jax.errors.JaxprTypeError."),
    ("is_constant_dim", ""),
):
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(jax.core, name)
        (warning,) = caught
        assert warning.category is DeprecationWarning and warning.filename == "<string>"
        assert str(warning.message) == f"jax.core.{name} is deprecated.{fix}"
""")


def test_versions() -> None:
    project = tomllib.loads((ROOT / "dropin" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["name"] == "jax"
    assert project["project"]["version"] == morphax.__version__
    run("""
import importlib.metadata, jax, jax.version
assert jax.__version__ == jax.version.__version__ == "0.10.2"
assert jax.__version_info__ == jax.version.__version_info__ == (0, 10, 2)
assert jax.lib.__version__ == importlib.metadata.version("jaxlib")
""")


def test_pickles_of_both_names() -> None:
    run("""
import pickle
import jax, jax.numpy as jnp
assert pickle.loads(b"cjax.numpy\\nsin\\n.") is pickle.loads(b"cmorphax.numpy\\nsin\\n.") is jnp.sin
assert pickle.loads(b"cjax.tree_util\\nPartial\\n.") is jax.tree_util.Partial
assert pickle.loads(b"cjax\\nShapeDtypeStruct\\n.") is jax.ShapeDtypeStruct
tree = {"a": jnp.arange(3), "b": jax.random.key(1)}
copy = pickle.loads(pickle.dumps((tree, jax.tree.structure(tree), jax.numpy.sin)))
assert copy[2] is jnp.sin and copy[1] == jax.tree.structure(tree)
assert (copy[0]["a"] == tree["a"]).all() and copy[0]["b"] == tree["b"]
""")


def test_replaced_functions_are_seen() -> None:
    run("""
from unittest import mock
import jax
import morphax.lax
psum, jit = jax.lax.psum, jax.jit
with mock.patch("jax.lax.psum") as fake, mock.patch.object(jax, "jit", 3):
    assert jax.lax.psum is morphax.lax.psum is fake and jax.jit == 3
assert jax.lax.psum is psum and jax.jit is jit
""")


def test_private_names_stand_for_ours() -> None:
    run("""
import importlib
import jax, jax._src.core, morphax
from jax._dropin.private import NAMES
for name, entry in NAMES.items():
    module, _, last = name.rpartition(".")
    theirs = getattr(importlib.import_module(f"morphax.{entry.module}"), entry.attribute)
    assert getattr(importlib.import_module(f"jax._src.{module}"), last) is theirs, name
assert "core" in dir(jax._src) and "ShapedArray" in dir(jax._src.core)
assert "traceback_util.include_frame" not in dir(jax._src)
for path, text in (
    ("core.Jaxpr", "module 'jax._src.core' has no attribute 'Jaxpr': it is private to JAX. Use jax."
     "extend.core.Jaxpr"),
    ("core.nothing", "morphax has nothing public of this name"),
    ("nothing", "module 'jax._src' has no attribute 'nothing'"),
):
    value, names = jax._src, path.split(".")
    for name in names[:-1]:
        value = getattr(value, name)
    try:
        getattr(value, names[-1])
    except AttributeError as error:
        assert text in str(error), error
    else:
        raise AssertionError(path)
try:
    import jax._src.pallas
except ModuleNotFoundError as error:
    assert "private to JAX" in str(error)
try:
    jax._src.core.something = 1  # nothing of ours would ever look at it
except AttributeError as error:
    assert "'something'" in str(error)
else:
    raise AssertionError
""")


def test_what_replaces_the_compiler_is_called() -> None:
    run("""
from unittest import mock
import jax
from jax._src import compiler
jax.config.update("jax_enable_compilation_cache", False)
real = compiler.backend_compile_and_load
seen = []
def watched(client, *arguments, **keywords):
    seen.append(client.platform)
    return real(client, *arguments, **keywords)
with mock.patch.object(compiler, "backend_compile_and_load", watched):
    assert jax.jit(lambda x: x + 1)(1) == 2
assert seen == ["cpu"]
assert jax.jit(lambda x: x + 2)(1) == 3
assert seen == ["cpu"] and compiler.backend_compile_and_load is real
assert "cpu" in jax._src.xla_bridge._backends
""")


def test_excluded_files_can_be_shown_again() -> None:
    run("""
import sys
from jax._src import traceback_util
frame = sys._getframe()
assert traceback_util.include_frame(frame)
traceback_util.register_exclusion("<string>")
assert not traceback_util.include_frame(frame)
traceback_util._exclude_paths.remove("<string>")
assert traceback_util.include_frame(frame)
""")


def test_it_refuses_to_be_beside_jax(tmp_path: Path) -> None:
    (tmp_path / "jax" / "_src").mkdir(parents=True)
    run(
        f"""
import sys
sys.path.append({str(tmp_path)!r})
try:
    import jax
except ImportError as error:
    assert "pip uninstall jax" in str(error) and {str(tmp_path)!r} in str(error)
else:
    raise AssertionError
assert "morphax" not in sys.modules
"""
    )


def test_run_as_a_program() -> None:
    command = [sys.executable, "-m", "jax.tools.jax_to_ir", "--help"]
    path = os.pathsep.join([str(SOURCE), str(Path(morphax.__file__).parents[1])])
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path}
    )
    assert result.returncode == 0, result.stderr
