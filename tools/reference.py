"""Write the pages of `docs/reference`: the public names of each module, a line for each.

Usage: ``python tools/reference.py [--check]``; with ``--check`` it writes nothing and fails if a
page is out of date.  A name's line is the first sentence of its docstring, so the pages change only
when a name or that sentence does.  A page of their own tells the options of ``jax.config``, from
their declarations.  Primitives (``sin_p``) are left out: the name of the function
tells about both.  What morphax takes over from NumPy is named, not explained.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from pathlib import Path
from typing import Any

from morphax.config.options import FACTS
from morphax.config.values import Option, describe
from morphax.core import Primitive

PACKAGE = "morphax"
FOLDER = Path(__file__).parent.parent / "docs" / "reference"
MODULES = (
    "morphax",
    "morphax.numpy",
    "morphax.numpy.fft",
    "morphax.numpy.linalg",
    "morphax.lax",
    "morphax.lax.linalg",
    "morphax.random",
    "morphax.nn",
    "morphax.nn.initializers",
    "morphax.science",
    "morphax.science.integrate",
    "morphax.science.interpolate",
    "morphax.science.linalg",
    "morphax.science.ndimage",
    "morphax.science.optimize",
    "morphax.science.signal",
    "morphax.scipy.cluster.vq",
    "morphax.scipy.fft",
    "morphax.scipy.integrate",
    "morphax.scipy.interpolate",
    "morphax.scipy.linalg",
    "morphax.scipy.ndimage",
    "morphax.scipy.optimize",
    "morphax.scipy.signal",
    "morphax.scipy.sparse.linalg",
    "morphax.scipy.spatial.transform",
    "morphax.scipy.special",
    "morphax.scipy.stats",
    "morphax.tree",
    "morphax.tree_util",
    "morphax.debug",
    "morphax.stages",
    "morphax.sharding",
    "morphax.errors",
    "morphax.ad",
    "morphax.ad_checkpoint",
    "morphax.api_util",
    "morphax.custom_batching",
    "morphax.custom_derivatives",
    "morphax.dlpack",
    "morphax.experimental",
    "morphax.experimental.array_serialization.pytree_serialization",
    "morphax.experimental.array_serialization.pytree_serialization_utils",
    "morphax.experimental.array_serialization.serialization",
    "morphax.experimental.array_serialization.tensorstore_impl",
    "morphax.experimental.buffer_callback",
    "morphax.experimental.checkify",
    "morphax.experimental.compute_on",
    "morphax.experimental.fused",
    "morphax.experimental.hijax",
    "morphax.experimental.jet",
    "morphax.experimental.key_reuse",
    "morphax.experimental.layout",
    "morphax.experimental.mesh_utils",
    "morphax.experimental.multihost_utils",
    "morphax.experimental.ode",
    "morphax.experimental.random",
    "morphax.experimental.rnn",
    "morphax.experimental.scheduling_groups",
    "morphax.experimental.pallas",
    "morphax.experimental.pallas.ops.tpu.megablox",
    "morphax.experimental.pallas.ops.tpu.splash_attention",
    "morphax.experimental.serialize_executable",
    "morphax.experimental.sparse",
    "morphax.experimental.sparse.linalg",
    "morphax.experimental.topologies",
    "morphax.experimental.xla_metadata",
    "morphax.experimental.colocated_python",
    "morphax.experimental.custom_partitioning",
    "morphax.distributed",
    "morphax.export",
    "morphax.ffi",
    "morphax.flatten_util",
    "morphax.example_libraries",
    "morphax.example_libraries.optimizers",
    "morphax.example_libraries.stax",
    "morphax.image",
    "morphax.memory",
    "morphax.monitoring",
    "morphax.ops",
    "morphax.profiler",
    "morphax.ref",
    "morphax.typing",
    "morphax.extend.backend",
    "morphax.extend.core",
    "morphax.extend.linear_util",
    "morphax.extend.random",
    "morphax.extend.sharding",
    "morphax.extend.source_info_util",
    "morphax.extend.xla",
    "morphax.interpreters.ad",
    "morphax.interpreters.batching",
    "morphax.interpreters.mlir",
    "morphax.interpreters.partial_eval",
    "morphax.interpreters.xla",
)


def _members(module: types.ModuleType) -> dict[str, Any]:
    """What a module has, with what it loads on demand."""
    return {name: getattr(module, name) for name in dir(module)}


def public_names(module: types.ModuleType) -> list[str]:
    """The names that users reach through `module`, in alphabetical order.

    Without ``__all__`` they are those that the file defines; a package, or a file that defines
    nothing, is there for what it re-exports.
    """
    values = _members(module)
    listed = vars(module).get("__all__")
    if listed is None:
        candidates = [n for n in values if n[0] != "_" and _is_public(module, n)]
        own = [n for n in candidates if _home(values[n]) == module.__name__]
        listed = candidates if hasattr(module, "__path__") or not own else own
    return sorted((n for n in listed if not isinstance(values[n], Primitive)), key=str.lower)


def _is_public(module: types.ModuleType, name: str) -> bool:
    value = getattr(module, name)
    if isinstance(value, types.ModuleType):
        return module.__name__ == PACKAGE and f"{PACKAGE}.{name}" in MODULES
    return value is not annotations


def _home(value: Any) -> str:
    """The module that an object comes from; that of its type if it does not say."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    owner = value if hasattr(value, "__qualname__") else type(value)
    return str(owner.__module__)


def summary(value: Any) -> str:
    """One line about an object, fit for a table."""
    text = inspect.getdoc(value)
    if not text or not _home(value).startswith(PACKAGE):
        return f"`{_described(value)}`".replace("|", "\\|")
    sentence = " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(" .")
    return sentence.replace("|", "\\|")


def _described(value: Any) -> str:
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, float | types.NoneType | types.UnionType):
        return str(value)
    return type(value).__name__


def page(name: str) -> str:
    """The page of one module."""
    module = importlib.import_module(name)
    rows = [f"| `{n}` | {summary(getattr(module, n))} |" for n in public_names(module)]
    head = f"# {name}\n\n{summary(module)}.\n\n| name | |\n| --- | --- |\n"
    return head + "\n".join(rows) + "\n"


_OPTIONS_HEAD = """\
# Options

An option is set for a process by `jax.config.update("jax_enable_x64", True)`, or by a variable of
the environment, `JAX_ENABLE_X64=1` or `MORPHAX_ENABLE_X64=1`; of the two the second wins.  Many are
contexts too, for a part of a program: `with jax.enable_x64(True): ...`.  Options marked with a star
are JAX's and change nothing here.

| option | default | |
| --- | --- | --- |
"""
_LISTED = 6


def options_page() -> str:
    """The page of the options, in the order of their declaration."""
    return _OPTIONS_HEAD + "".join(f"{_option_row(describe(name))}\n" for name in FACTS)


def _option_row(option: Option) -> str:
    star = r" \*" if option.inert is True else ""
    choices = [f"`{choice!r}`" for choice in option.choices or ()]
    values = f" One of {', '.join(choices)}." if 0 < len(choices) <= _LISTED else ""
    return f"| `{option.name}`{star} | `{option.default!r}` | {option.meaning}{values} |"


def pages() -> dict[Path, str]:
    """The text that each page should have."""
    # A package has its submodules as attributes once they are imported.
    for name in MODULES:
        importlib.import_module(name)
    texts = {name: page(name) for name in MODULES} | {"options": options_page()}
    return {FOLDER / f"{name}.md": text for name, text in texts.items()}


def outdated() -> list[str]:
    """Names of the pages whose file differs, is missing, or belongs to no module."""
    wanted = pages()
    differing = [p for p, text in wanted.items() if not p.exists() or p.read_text("utf-8") != text]
    return sorted(p.name for p in {*differing, *(set(FOLDER.glob("*.md")) - set(wanted))})


def main(arguments: list[str]) -> int:
    """Write the pages, or check them; the exit status."""
    if "--check" in arguments:
        stale = outdated()
        if stale:
            print(f"out of date: {', '.join(stale)}; run python tools/reference.py")
        return bool(stale)
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for path in set(FOLDER.glob("*.md")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
