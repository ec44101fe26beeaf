"""The structure checks, on small made-up trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import check_house

CORE = "src/morphax/core"


def write_tree(root: Path, files: dict[str, str]) -> Path:
    """Write the files; each folder of the package gets an empty `__init__.py` unless it has one."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    source = root / "src"
    for folder in [path for path in source.rglob("*") if path.is_dir()]:
        (folder / "__init__.py").touch()
    return root


def broken(root: Path, files: dict[str, str]) -> list[str]:
    """Rule and place of each finding in a tree of these files."""
    tree = write_tree(root, files)
    findings = check_house.all_findings(tree)
    return sorted(f"{finding.rule} {finding.place}" for finding in findings)


@pytest.mark.parametrize(
    ("importer", "statement", "place"),
    [
        ("core/aval.py", "from ..lax import add", "morphax.lax.add"),
        ("core/aval.py", "from ..lax import absent_name", "morphax.lax"),
        ("transforms/jvp.py", "from .. import lax", "morphax.lax"),
        ("lax/__init__.py", "from .. import debug", "morphax.debug"),
        ("core/aval.py", "from morphax.lax.add import add", "morphax.lax.add"),
        ("core/aval.py", "import morphax.lax.add", "morphax.lax.add"),
        ("core/aval.py", "from .. import debug", "morphax.debug"),
        ("core/aval.py", "from .. import absent_name", "morphax"),
        ("core/aval.py", "import morphax", "morphax"),
        ("util/text.py", "if True:\n    from ..core import aval", "morphax.core.aval"),
        ("lax/add.py", "from ..numpy import ufuncs", "morphax.numpy.ufuncs"),
        ("numpy/__init__.py", "from .. import debug", "morphax.debug"),
    ],
)
def test_upward_import_is_found(tmp_path: Path, importer: str, statement: str, place: str) -> None:
    modules = ["core/aval.py", "lax/add.py", "numpy/ufuncs.py", "util/text.py", "debug.py"]
    files = {f"src/morphax/{name}": "" for name in modules}
    files[f"src/morphax/{importer}"] = statement
    assert f"layer src/morphax/{importer}:{place}" in broken(tmp_path, files)


@pytest.mark.parametrize(
    ("importer", "statement"),
    [
        ("lax/add.py", "from ..core import aval\nfrom morphax.core.aval import name"),
        ("core/aval.py", "from . import jaxpr\nfrom .jaxpr import name"),
        ("core/aval.py", "import numpy.linalg\nfrom lax import add"),
        (
            "core/aval.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .. import lax",
        ),
        ("util/text.py", "from morphax._native import HostMemory\nfrom .. import _native"),
        ("numpy/__init__.py", "from . import ufuncs\nfrom ..lax import add"),
        ("numpy/ufuncs.py", "from .. import lax"),
        ("lax/__init__.py", "from ..core import aval\nfrom ..parallel.collectives import psum"),
        ("__init__.py", "from . import core, debug, numpy\nfrom .lax.add import add"),
    ],
)
def test_downward_and_sideways_imports_are_accepted(
    tmp_path: Path, importer: str, statement: str
) -> None:
    modules = ["core/aval.py", "core/jaxpr.py", "lax/add.py", "numpy/ufuncs.py", "debug.py"]
    modules += ["parallel/collectives.py", "lax/__init__.py"]
    files = {f"src/morphax/{name}": "" for name in [*modules, "_native.pyi"]}
    files[f"src/morphax/{importer}"] = statement
    assert broken(tmp_path, files) == []


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"a.py": "from . import b", "b.py": "from .a import x"}, "a.py"),
        (
            {"a.py": "from .b import x", "b.py": "from . import c", "c.py": "from . import a"},
            "a.py",
        ),
        ({"__init__.py": "from .a import x", "a.py": "from . import y"}, "__init__.py"),
    ],
)
def test_cycle_is_found(tmp_path: Path, files: dict[str, str], place: str) -> None:
    tree = {f"{CORE}/{name}": text for name, text in files.items()}
    assert broken(tmp_path, tree) == [f"cycle {CORE}/{place}"]


def test_cycle_through_the_init_of_another_package_is_found(tmp_path: Path) -> None:
    files = {
        "src/morphax/nn/__init__.py": "from ..numpy import ufuncs",
        "src/morphax/nn/layers.py": "",
        "src/morphax/numpy/ufuncs.py": "from ..nn.layers import dense",
    }
    assert broken(tmp_path, files) == [
        "cycle src/morphax/nn/__init__.py",
        "package-cycle src/morphax:nn,numpy",
    ]


def test_files_of_a_package_with_two_floors_do_not_run_its_face(tmp_path: Path) -> None:
    files = {
        "src/morphax/lax/__init__.py": "from ..control.loops import scan\nfrom .add import add",
        "src/morphax/lax/add.py": "",
        "src/morphax/control/loops.py": "from ..lax import add\nfrom ..lax.add import add",
    }
    assert broken(tmp_path, files) == []
    files["src/morphax/control/loops.py"] = "from .. import lax"
    assert broken(tmp_path, files) == [
        "cycle src/morphax/control/loops.py",
        "layer src/morphax/control/loops.py:morphax.lax",
    ]


def test_packages_may_import_their_own_modules_and_types_may_go_in_circles(tmp_path: Path) -> None:
    files = {
        f"{CORE}/__init__.py": "from .a import x\nfrom . import b",
        f"{CORE}/a.py": "from . import b",
        f"{CORE}/b.py": "import typing\nif typing.TYPE_CHECKING:\n    from .a import x",
    }
    assert broken(tmp_path, files) == []


def test_packages_that_import_one_another_are_found(tmp_path: Path) -> None:
    files = {
        "src/morphax/control/jit/a.py": "from ..loops import c",
        "src/morphax/control/jit/b.py": "",
        "src/morphax/control/loops/c.py": "",
        "src/morphax/control/loops/d.py": "from ..jit import b",
    }
    assert broken(tmp_path, files) == ["package-cycle src/morphax/control:jit,loops"]


def test_packages_that_import_one_another_through_a_module_are_found(tmp_path: Path) -> None:
    files = {
        "src/morphax/control/jit/a.py": "from ..calls import x",
        "src/morphax/control/jit/b.py": "",
        "src/morphax/control/calls.py": "from .jit.b import y",
    }
    assert broken(tmp_path, files) == ["package-cycle src/morphax/control:calls,jit"]


def test_a_package_that_only_passes_names_on_is_in_no_cycle(tmp_path: Path) -> None:
    """Not the `__init__` of one with two floors, nor one whose own modules import it."""
    files = {
        "src/morphax/lax/__init__.py": "from ..control.loops import scan",
        "src/morphax/lax/add.py": "",
        "src/morphax/control/loops/__init__.py": "from .scan import scan",
        "src/morphax/control/loops/scan.py": "from ...lax import add\nfrom ..jit import b",
        "src/morphax/control/jit/b.py": "",
    }
    assert broken(tmp_path, files) == []


def test_first_party_import_in_a_function_is_found(tmp_path: Path) -> None:
    text = "def late():\n    import numpy\n    from . import jaxpr\n"
    files = {f"{CORE}/aval.py": text, f"{CORE}/jaxpr.py": ""}
    assert broken(tmp_path, files) == [f"function-import {CORE}/aval.py:late"]


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("core/aval.py", "def f():\n    import jaxlib", "jaxlib"),
        ("core/aval.py", "from jaxlib import xla_client", "jaxlib"),
        ("runtime/client.py", "from jaxlib import xla_client", "jaxlib"),
        ("runtime/client.py", "def f():\n    from jaxlib import xla_client", None),
        ("core/aval.py", "import scipy.special", "scipy"),
        ("core/aval.py", "def f():\n    import scipy.special", None),
        ("scipy/special.py", "from ..scipy import linalg", None),
    ],
)
def test_jaxlib_and_scipy_stay_where_they_belong(
    tmp_path: Path, path: str, text: str, rule: str | None
) -> None:
    files = {f"src/morphax/{path}": text, "src/morphax/scipy/linalg.py": ""}
    assert broken(tmp_path, files) == ([f"{rule} src/morphax/{path}"] if rule else [])


def test_lengths_are_limited(tmp_path: Path) -> None:
    def function(lines: int, docstring: str = "") -> str:
        return f"def long():\n{docstring}" + "    pass\n" * lines

    files = {
        f"{CORE}/short.py": function(60, '    """Text.\n\n    More.\n    """\n') + "x = 0\n" * 335,
        f"{CORE}/long.py": "x = 0\n" * 401,
        "tests/test_long.py": "x = 0\n" * 800,
        "tests/test_longer.py": "x = 0\n" * 801,
        "native/short.cpp": "//\n" * 400,
        "native/long.cpp": "//\n" * 401,
        "tools/tool.py": "class Tool:\n    def run(self):\n" + "        pass\n" * 61,
    }
    assert broken(tmp_path, files) == [
        "file-length native/long.cpp",
        f"file-length {CORE}/long.py",
        "file-length tests/test_longer.py",
        "function-length tools/tool.py:Tool.run",
    ]


def test_main_prints_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tree(tmp_path, {f"{CORE}/a.py": "from .. import lax", "src/morphax/lax/add.py": ""})
    assert check_house.main([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert out == (
        f"layer {CORE}/a.py:morphax.lax  "
        "# line 1: core imports morphax.lax of the layer parallel above it\n"
    )
    (tmp_path / CORE / "a.py").write_text("")
    assert check_house.main([str(tmp_path)]) == 0


def test_every_layer_package_is_named_once() -> None:
    named = [package for _, packages in check_house.LAYERS for package in packages]
    assert len(named) == len(set(named)) == len(check_house.LAYER_OF)
