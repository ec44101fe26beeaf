"""Check the structure of the sources: layers, import cycles, sizes.

Usage: ``python tools/check_house.py [root]``; fails when a rule is broken.  The rules:

- ``layer``: an import points down or stays in its layer (`LAYERS`, low to high);
- ``cycle``: the imports at module level have no cycle;
- ``package-cycle``: nor have they among the packages and modules of one package, each package taken
  as a whole;
- ``function-import``: no import of the package's own modules inside a function;
- ``jaxlib``: jaxlib is imported in `runtime` only, and never when morphax is imported;
- ``scipy``: SciPy is never imported when morphax is imported;
- ``file-length`` and ``function-length``: in lines; a function's docstring does not count, and a
  list of public names may be as long as there are names.  In C++ only
  files are measured.

Importing ``a.b.c`` also runs ``a`` and ``a.b``: the importer depends on them too, unless it lies in
them itself, or they have two floors (`FACES`).  What is imported under ``if TYPE_CHECKING`` does
not count.

There are no exceptions.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

PACKAGE = "morphax"
SOURCE = "src"

# Low to high.  A module of the package that no layer names belongs to the face, above all of them.
LAYERS = (
    ("ground", ("util", "errors", "dtypes", "config", "tree", "monitoring", "_native")),
    ("core", ("core",)),
    ("runtime", ("runtime",)),
    ("array", ("array",)),
    ("engines", ("engines",)),
    ("lax", ("lax",)),
    ("transforms", ("transforms",)),
    ("control", ("control",)),
    ("parallel", ("parallel", "sharding", "distributed")),
    ("libraries", ("numpy", "scipy", "random", "nn", "image", "ops")),
)
FACE = "face"
# Packages with two floors: the `__init__` re-exports from higher layers, up to the one named here,
# and lies in it; the package's own files lie where `LAYERS` says, and importing one of them does
# not count as importing the `__init__`.
FACES = {f"{PACKAGE}.lax": "parallel"}
JAXLIB_HOME = f"{PACKAGE}.runtime"
MAX_FUNCTION_LINES = 60
NATIVE = "native"
MAX_NATIVE_LINES = 400
MAX_FILE_LINES = {SOURCE: 400, "dropin": 400, "tools": 400, "tests": 800, "benchmarks": 800}

type_checking_names = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Finding(NamedTuple):
    """A broken rule: where it is broken, and the explanation."""

    rule: str
    place: str
    detail: str


class Import(NamedTuple):
    """An imported name: absolute, with the function it is imported in (empty at module level)."""

    target: str
    function: str
    line: int


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed file of the package."""

    name: str
    path: str
    is_package: bool
    tree: ast.Module

    def base(self, level: int) -> str:
        """The package that a relative import with `level` dots starts from."""
        parts = self.name.split(".")
        return ".".join(parts[: len(parts) + self.is_package - level])


HEIGHTS = {layer: height for height, (layer, _) in enumerate(LAYERS)}
LAYER_OF = {package: (HEIGHTS[layer], layer) for layer, packages in LAYERS for package in packages}


def layer_of(module: str) -> tuple[int, str]:
    """Height and name of the layer that a module of the package lies in."""
    if layer := FACES.get(module):
        return HEIGHTS[layer], layer
    parts = module.split(".")
    return LAYER_OF.get(parts[1] if len(parts) > 1 else "", (len(LAYERS), FACE))


def read_modules(root: Path) -> list[Module]:
    """All modules of the package, parsed."""
    source = root / SOURCE
    modules = []
    for path in sorted((source / PACKAGE).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        modules.append(Module(name, path.relative_to(root).as_posix(), is_package, tree))
    return modules


def known_names(root: Path, modules: Iterable[Module]) -> frozenset[str]:
    """Names of all modules; a compiled module is known by its stub file."""
    stubs = (root / SOURCE / PACKAGE).rglob("*.pyi")
    compiled = (".".join(p.relative_to(root / SOURCE).with_suffix("").parts) for p in stubs)
    return frozenset([*(module.name for module in modules), *compiled])


def _children(node: ast.AST) -> list[ast.AST]:
    """What runs below a node: the body of ``if TYPE_CHECKING`` never does."""
    if isinstance(node, ast.If) and ast.unparse(node.test) in type_checking_names:
        return list(node.orelse)
    return list(ast.iter_child_nodes(node))


def imports_of(module: Module) -> list[Import]:
    """Every import statement of a module, as absolute names."""
    found: list[Import] = []

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, function, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = [module.base(node.level) if node.level else "", node.module or ""]
            start = ".".join(filter(None, parts))
            found.extend(Import(f"{start}.{a.name}", function, node.lineno) for a in node.names)
        inner = node.name if isinstance(node, Function) else function
        for child in _children(node):
            visit(child, inner)

    visit(module.tree, "")
    return found


def _is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def dependencies(importer: str, target: str, known: frozenset[str]) -> Iterator[str]:
    """Modules of the package that run because `importer` imports `target`."""
    parts = target.split(".")
    prefixes = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    executed = [name for name in prefixes if name in known]
    for name in executed:
        if name in FACES and name != executed[-1]:
            continue
        # An enclosing package is already being imported, unless the import asks for a name in it.
        if not _is_in(importer, name) or (name == executed[-1] and name != importer):
            yield name


def check_layers(module: Module, known: frozenset[str]) -> Iterator[Finding]:
    """Imports that point up."""
    rank, layer = layer_of(module.name)
    for target in imports_of(module):
        for name in dependencies(module.name, target.target, known):
            above, other = layer_of(name)
            if above > rank:
                detail = f"line {target.line}: {layer} imports {name} of the layer {other} above it"
                yield Finding("layer", f"{module.path}:{name}", detail)


def check_import_places(module: Module) -> Iterator[Finding]:
    """Imports that are in the wrong function, or in the wrong package."""
    for target, function, line in imports_of(module):
        package = target.split(".")[0]
        if package == PACKAGE and function:
            detail = f"line {line}: {target} is imported inside a function"
            yield Finding("function-import", f"{module.path}:{function}", detail)
        if package == "jaxlib" and not _is_in(module.name, JAXLIB_HOME):
            yield Finding("jaxlib", module.path, f"line {line}: only {JAXLIB_HOME} knows jaxlib")
        elif package in ("jaxlib", "scipy") and not function:
            detail = f"line {line}: {target} would be loaded with morphax; import it in a function"
            yield Finding(package, module.path, detail)


def import_graph(modules: Iterable[Module], known: frozenset[str]) -> dict[str, list[str]]:
    """What each module runs when it is imported."""
    return {
        module.name: sorted(
            {
                name
                for target in imports_of(module)
                if not target.function
                for name in dependencies(module.name, target.target, known)
            }
        )
        for module in modules
    }


def find_cycles(graph: dict[str, list[str]]) -> list[list[str]]:
    """Groups of modules that import one another (Tarjan's strongly connected components)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for successor in graph.get(node, ()):
            if successor not in order:
                visit(successor)
            if successor in stack:
                low[node] = min(low[node], low[successor])
        if low[node] == order[node]:
            start = stack.index(node)
            group, stack[start:] = stack[start:], []
            if len(group) > 1:
                groups.append(sorted(group))

    for node in graph:
        if node not in order:
            visit(node)
    return groups


def check_cycles(modules: Iterable[Module], known: frozenset[str]) -> Iterator[Finding]:
    """Groups of modules that import one another."""
    modules = list(modules)
    paths = {module.name: module.path for module in modules}
    for group in find_cycles(import_graph(modules, known)):
        yield Finding("cycle", paths[group[0]], "modules import one another: " + ", ".join(group))


def sibling_imports(
    graph: dict[str, list[str]], packages: Iterable[str]
) -> dict[str, dict[str, list[str]]]:
    """For each package, which of its children import which others, all that lies in them counted.

    The `__init__` of a package with two floors does not count: it re-exports what lies higher.
    """
    siblings: dict[str, dict[str, set[str]]] = {package: {} for package in packages}
    for module, targets in graph.items():
        for target in targets:
            if module in FACES or target in FACES:
                continue
            own, other = module.split("."), target.split(".")
            pairs = enumerate(zip(own, other, strict=False))
            # Where the two names part; a module and a package that it lies in have no such place.
            depth = next((i for i, (a, b) in pairs if a != b), 0)
            if depth:
                imports = siblings[".".join(own[:depth])]
                imports.setdefault(_child(own, depth), set()).add(_child(other, depth))
    return {
        package: {child: sorted(others) for child, others in sorted(imports.items())}
        for package, imports in siblings.items()
    }


def _child(parts: list[str], depth: int) -> str:
    """What a module lies in, or is, below the package of its first `depth` parts."""
    return ".".join(parts[: depth + 1])


def check_package_cycles(modules: Iterable[Module], known: frozenset[str]) -> Iterator[Finding]:
    """Children of a package that import one another, at least one of which is a package."""
    modules = list(modules)
    packages = {module.name: module for module in modules if module.is_package}
    siblings = sibling_imports(import_graph(modules, known), packages)
    for package, imports in siblings.items():
        for group in find_cycles(imports):
            if any(child in packages for child in group):
                names = ",".join(child.removeprefix(f"{package}.") for child in group)
                folder = packages[package].path.removesuffix("/__init__.py")
                detail = "they import one another, each taken as a whole"
                yield Finding("package-cycle", f"{folder}:{names}", detail)


def _function_lines(function: Function) -> int:
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    last = function.end_lineno or function.lineno
    return last - body[0].lineno + 1 if body else 0


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, Function | ast.ClassDef):
            name = f"{prefix}.{child.name}" if prefix else child.name
        if isinstance(child, Function):
            yield name, child
        yield from _functions(child, name)


def _is_list_of_names(tree: ast.Module) -> bool:
    """Whether a file does no more than import names, some of them on demand."""
    return all(
        isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.If) and _is_list_of_names(ast.Module(node.body, [])))
        or (isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("_on_demand("))
        for node in tree.body
    )


def check_sizes(root: Path) -> Iterator[Finding]:
    """Files and functions that are too long."""
    for path in sorted((root / NATIVE).glob("*.*")):
        if (lines := path.read_text(encoding="utf-8").count("\n")) > MAX_NATIVE_LINES:
            place = path.relative_to(root).as_posix()
            yield Finding("file-length", place, f"{lines} lines; at most {MAX_NATIVE_LINES}")
    for folder, limit in MAX_FILE_LINES.items():
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            place = path.relative_to(root).as_posix()
            tree = ast.parse(text, filename=place)
            if (lines := text.count("\n")) > limit and not _is_list_of_names(tree):
                yield Finding("file-length", place, f"{lines} lines; at most {limit}")
            for name, function in _functions(tree):
                if (lines := _function_lines(function)) > MAX_FUNCTION_LINES:
                    detail = f"line {function.lineno}: {lines} lines; at most {MAX_FUNCTION_LINES}"
                    yield Finding("function-length", f"{place}:{name}", detail)


def all_findings(root: Path) -> list[Finding]:
    """Every broken rule of a tree."""
    modules = read_modules(root)
    known = known_names(root, modules)
    findings = [
        *check_cycles(modules, known),
        *check_package_cycles(modules, known),
        *check_sizes(root),
    ]
    for module in modules:
        findings += [*check_layers(module, known), *check_import_places(module)]
    return findings


def main(arguments: list[str]) -> int:
    """Print what is wrong with the tree; the result is the exit status."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    findings = sorted(set(all_findings(root)))
    for rule, place, detail in findings:
        print(f"{rule} {place}  # {detail}")
    if findings:
        print(f"{len(findings)} broken rules", file=sys.stderr)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
