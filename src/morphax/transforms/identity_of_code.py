"""Identities of code: functions, methods, classes and modules."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

from ..util.records import LateMethod
from .code_reads import PLAIN_DUNDERS, Chains, CodeReads, reads_of
from .identity_walk import BY_VALUE, Absent, Same, Unknown, Walk
from .pure_functions import has_pure_code, is_constant, is_library, is_our_module, is_pure

# Of these there may be two that are equal.
_NUMBERS = frozenset({int, str, bytes, float, complex})
_CONTAINERS = BY_VALUE | {
    *(float, complex, list, dict, tuple, set, frozenset, slice, range),
    *(OrderedDict, defaultdict, deque),
}
# Read by `match` and by functions of `dataclasses`.
_READ_DUNDERS = frozenset({"__match_args__", "__dataclass_fields__"})
# What of a class is no code and cannot be read by code that is understood.  What ABCMeta keeps
# beside a class is told by the token in `control.remembered`.
_BOOKKEEPING = frozenset({"__dict__", "__weakref__", "__doc__", "__annotate__", "_abc_impl"})


def visit_function(walk: Walk, value: FunctionType) -> None:
    """A function: its code and, by names, all that the code reads."""
    pure = has_pure_code(value)
    if is_constant(value, pure):
        walk.parts.append(value)
        return
    code, closure = value.__code__, value.__closure__ or ()
    walk.parts += (FunctionType, code, value.__name__, value.__qualname__, len(closure))
    reads = None if pure else _reads(value)
    for name, cell in zip(code.co_freevars, closure, strict=True):
        # Others may write to the same variable.
        walk.meet(cell)
        contents = contents_of(cell)
        if reads is None:
            walk.visit(contents)
        else:
            _visit_variable(walk, name, contents, reads, reads.cells.get(name, ()))
    walk.visit(value.__defaults__)
    walk.visit(value.__kwdefaults__)
    walk.visit_mapping(value.__dict__)
    if reads is not None:
        _visit_globals(walk, value, reads)


def _reads(function: FunctionType) -> CodeReads:
    if type(function.__globals__) is not dict or is_library(function.__globals__):
        name = f"{function.__module__}.{function.__qualname__}"
        raise Unknown(f"{name}, a function of a library that is not declared pure")
    reads = reads_of(function.__code__)
    if reads.doubt is not None:
        raise Unknown(reads.doubt)
    return reads


def contents_of(cell: CellType) -> Any:
    """What a variable of an enclosing function holds, `Absent` if nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return Absent


def _visit_globals(walk: Walk, function: FunctionType, reads: CodeReads) -> None:
    namespace = function.__globals__
    builtins: dict[str, Any] = getattr(function, "__builtins__", {})
    for name, chains in reads.globals:
        value = namespace.get(name, Absent)
        if value is Absent:
            value = builtins.get(name, Absent)
        if value is hash and function.__name__ == "__hash__":
            # For tables only: nothing else can be done with what `__hash__` returns.
            walk.parts.append(hash)
        else:
            _visit_variable(walk, name, value, reads, chains)


def _visit_variable(walk: Walk, name: str, value: object, reads: CodeReads, chains: Chains) -> None:
    """What a global or a cell holds; a module by what is read of it."""
    if isinstance(value, ModuleType):
        for chain in chains:
            _visit_member(walk, value, chain)
        return
    if name in reads.compared and type(value) in _NUMBERS:
        raise Unknown(f"whether a value is the object {name}")
    walk.visit(value)


def _visit_member(walk: Walk, module: ModuleType, chain: tuple[str, ...]) -> None:
    """What code gets from a module by a chain of attributes."""
    if not chain:
        visit_bare_module(walk, module)
    walk.parts.append(module)
    name, further = chain[0], chain[1:]
    value = vars(module).get(name, Absent)
    if value is Absent and is_our_module(module):
        value = getattr(module, name, Absent)
    if value is Absent or type(module) is not ModuleType:
        raise Unknown(f"the attribute {name} that {module.__name__} finds at run time")
    if isinstance(value, ModuleType):
        _visit_member(walk, value, further)
    else:
        walk.visit(value)


def visit_bare_module(walk: Walk, value: ModuleType) -> None:
    """A module that is handed around: code anywhere may read anything of it."""
    raise Unknown(f"the module {value.__name__} as a value")


def visit_method(walk: Walk, value: MethodType) -> None:
    """A method bound to an object."""
    walk.parts.append(MethodType)
    walk.visit(value.__func__)
    walk.visit(value.__self__)


def visit_builtin(walk: Walk, value: BuiltinFunctionType) -> None:
    """A function written in C: declared pure, or a method of a container that is walked."""
    if is_pure(value):
        walk.parts.append(value)
    elif type(value.__self__) in _CONTAINERS:
        walk.parts += (BuiltinFunctionType, value.__name__)
        walk.visit(value.__self__)
    else:
        raise Unknown(f"the builtin function {value.__qualname__}, which is not declared pure")


def visit_descriptor(walk: Walk, value: Any) -> None:
    """A method or an attribute written in C, of a class that is declared pure."""
    if not is_pure(value):
        raise Unknown(f"{value.__objclass__.__qualname__}, whose code cannot be seen")
    walk.parts.append(value)


def visit_class(walk: Walk, value: type) -> None:
    """A class by itself and, unless it is declared pure, by all that it defines."""
    if is_pure(value):
        walk.parts.append(value)
        return
    walk.same(value)
    walk.parts += (value.__name__, value.__qualname__)
    walk.visit(type(value))
    walk.parts.append(len(value.__mro__))
    for base in value.__mro__:
        if is_pure(base):
            walk.parts.append(base)
        else:
            _visit_members(walk, base)


def _visit_members(walk: Walk, value: type) -> None:
    members = [(n, m) for n, m in vars(value).items() if _can_be_reached(n, m)]
    walk.parts += (Same, len(members))
    for name, member in members:
        walk.parts.append(name)
        walk.visit(member.function() if type(member) is LateMethod else member)


def _can_be_reached(name: str, member: object) -> bool:
    """Whether code can get at a member of a class: by its name, or because Python calls it."""
    if name in _BOOKKEEPING:
        return False
    if name.startswith("__") and name.endswith("__") and name not in _READ_DUNDERS:
        return name in PLAIN_DUNDERS or callable(member) or hasattr(type(member), "__get__")
    return True
