"""What the code of a function can read beside its arguments: by positive list.

The instructions are gone through once per code object; nested functions, lambdas and comprehensions
belong to the code that contains them.  What is not understood here has no reads that are known, and
`CodeReads.doubt` says what it was: an instruction that is not listed, an attribute that leads out
of the values at hand (``f.__globals__``), an object compared with `is` where Python leaves open
whether equal values are one object.

The variables of a function that can hold modules, globals and cells, are read with the attributes
that follow at once: of ``np.linalg.norm(x)`` the chain is ``("linalg", "norm")``.  An empty chain
is a read of the bare value.

The argument why this is complete stands in docs/design/function-identity.md.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Mapping
from string import Formatter
from types import CodeType
from typing import final

from ..util.memo import memoize
from ..util.records import dataclass

Chains = tuple[tuple[str, ...], ...]

# Move, combine and build values, call them, jump.  Operators and calls run code of the values at
# hand; what these are, and may be, is the matter of the walk.
_HARMLESS = frozenset(
    "CACHE NOP RESUME EXTENDED_ARG POP_TOP PUSH_NULL COPY SWAP PRECALL KW_NAMES CALL CALL_KW "
    "CALL_FUNCTION_EX LOAD_CONST RETURN_CONST RETURN_VALUE "
    "LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST "
    "STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST DELETE_FAST "
    "MAKE_CELL COPY_FREE_VARS LOAD_CLOSURE STORE_DEREF DELETE_DEREF "
    "MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE "
    "UNARY_POSITIVE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT TO_BOOL BINARY_OP COMPARE_OP CONTAINS_OP "
    "BINARY_SUBSCR BINARY_SLICE STORE_SUBSCR STORE_SLICE DELETE_SUBSCR "
    "BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_MAP BUILD_CONST_KEY_MAP BUILD_STRING BUILD_SLICE "
    "LIST_APPEND LIST_EXTEND LIST_TO_TUPLE SET_ADD SET_UPDATE MAP_ADD DICT_UPDATE DICT_MERGE "
    "UNPACK_SEQUENCE UNPACK_EX FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE "
    "GET_ITER FOR_ITER END_FOR GET_LEN GET_YIELD_FROM_ITER YIELD_VALUE SEND END_SEND "
    "RETURN_GENERATOR MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS MATCH_CLASS "
    "JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT "
    "JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP "
    "POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE "
    "POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE "
    "POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE "
    "POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE "
    "POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE "
    "RAISE_VARARGS RERAISE PUSH_EXC_INFO POP_EXCEPT CHECK_EXC_MATCH CLEANUP_THROW "
    "LOAD_ASSERTION_ERROR BEFORE_WITH WITH_EXCEPT_START".split()
)
_INTRINSICS = frozenset(
    {"INTRINSIC_UNARY_POSITIVE", "INTRINSIC_LIST_TO_TUPLE", "INTRINSIC_STOPITERATION_ERROR"}
)
_GLOBAL_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_CELL_READS = frozenset({"LOAD_DEREF"})
_VARIABLES = _GLOBAL_READS | _CELL_READS
_LOCAL_READS = frozenset({"LOAD_FAST", "LOAD_FAST_LOAD_FAST"})
_ATTRIBUTES = frozenset(
    {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR"}
)
_CHAINED = frozenset({"LOAD_ATTR", "LOAD_METHOD"})

# Of names between double underscores: methods, which belong to the class of the object, and what
# the walk accounts for.  Others lead to namespaces, code, frames, other classes.
PLAIN_DUNDERS = frozenset(
    "__abs__ __add__ __and__ __array__ __bool__ __call__ __class__ __contains__ __delattr__ "
    "__delitem__ __divmod__ __enter__ __eq__ __exit__ __float__ __floordiv__ __ge__ __getitem__ "
    "__gt__ __iadd__ __index__ __init__ __int__ __invert__ __iter__ __jax_array__ __le__ "
    "__len__ __lt__ __matmul__ __mod__ __mul__ __name__ __ne__ __neg__ __next__ __or__ __pos__ "
    "__post_init__ __pow__ __qualname__ __radd__ __rmatmul__ __rmul__ __round__ __rsub__ "
    "__rtruediv__ __setattr__ __setitem__ __sub__ __truediv__ __wrapped__ __xor__".split()
)
_parsed = Formatter().parse
# Of devices and their clients, which arrays, meshes and shardings lead to: what changes there.  Of
# tracers: what they stand for.
_CHANGING = frozenset(
    "memory_stats live_buffers live_arrays live_executables heap_profile poison_execution "
    "primal tangent get_referent".split()
)
# Of frames, generators, coroutines, tracebacks and code.
_REFLECTIVE = ("f_", "gi_", "cr_", "ag_", "tb_", "co_", "func_")


@final
@dataclass(frozen=True, slots=True)
class CodeReads:
    """What a code object, with the functions defined in it, reads.

    Args:
        globals: names of global variables, each with the chains of attributes read of it.
        cells: the same of the variables of enclosing functions.
        compared: names of global variables and cells that values are compared with by `is`.
        doubt: why there may be more; `None` if that is all.
    """

    globals: tuple[tuple[str, Chains], ...]
    cells: Mapping[str, Chains]
    compared: tuple[str, ...]
    doubt: str | None


@memoize
def reads_of(code: CodeType) -> CodeReads:
    """What a code object, with the functions defined in it, reads.

    Example:
        >>> from morphax.transforms.code_reads import reads_of
        >>> reads_of((lambda x: math.pi * x).__code__).globals
        (('math', (('pi',),)),)
        >>> reads_of((lambda f: f.__globals__).__code__).doubt
        'the attribute __globals__'
    """
    names: dict[str, dict[tuple[str, ...], None]] = {}
    cells: dict[str, dict[tuple[str, ...], None]] = {}
    compared: dict[str, None] = {}
    doubts: list[str] = []
    for inner in _with_nested(code):
        instructions = list(dis.get_instructions(inner))
        for place, instruction in enumerate(instructions):
            operation = instruction.opname
            if operation in _HARMLESS:
                continue
            if operation in _GLOBAL_READS:
                names.setdefault(instruction.argval, {})[_chain(instructions, place)] = None
            elif operation in _CELL_READS:
                cells.setdefault(instruction.argval, {})[_chain(instructions, place)] = None
            elif operation == "IS_OP" and instructions[place - 1].opname in _VARIABLES:
                compared[instructions[place - 1].argval] = None
            elif not _is_understood(inner, instructions[:place], instruction):
                doubts += _doubts(instruction)
    return CodeReads(
        tuple([(name, tuple(chains)) for name, chains in names.items()]),
        {name: tuple(chains) for name, chains in cells.items()},
        tuple(compared),
        doubts[0] if doubts else None,
    )


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)


def _chain(instructions: list[dis.Instruction], place: int) -> tuple[str, ...]:
    """The attributes that are read, one of the other, of the value just loaded.

    If code jumps into the middle, other values get there too, each with a chain that ends before.
    """
    chain = []
    for instruction in instructions[place + 1 :]:
        if instruction.opname in _CHAINED:
            chain.append(instruction.argval)
        elif instruction.opname != "EXTENDED_ARG":
            break
    return tuple(chain)


def _is_understood(
    code: CodeType, before: list[dis.Instruction], instruction: dis.Instruction
) -> bool:
    """Whether what stands before an instruction shows that it reads nothing further."""
    last = before[-1] if before else instruction
    if instruction.argval == "format" and instruction.opname in _CHAINED:
        return last.opname == "LOAD_CONST" and _names_no_attributes(last.argval)
    return instruction.opname == "IS_OP" and _compares_objects(code, before, last)


def _names_no_attributes(text: object) -> bool:
    """Whether a format consists of fields such as ``{}`` and ``{x:.3f}``, not ``{x.y}``."""
    if type(text) is not str:
        return False
    return all(
        [
            name is None or ((not name or name.isalnum()) and _names_no_attributes(spec))
            for _, name, spec, _ in _parsed(text)
        ]
    )


def _compares_objects(code: CodeType, before: list[dis.Instruction], last: dis.Instruction) -> bool:
    """Whether a comparison by `is` is one with a singleton, a class or an object of a class."""
    if last.opname == "LOAD_CONST":
        return last.argval is None or last.argval is ... or type(last.argval) is bool
    if last.opname == "LOAD_ATTR":
        return bool(last.argval == "__class__")
    # ``self is other``: of objects whose class defines `__eq__` there are not two for one.
    loaded = [i.argval for i in before[-2:] if i.opname in _LOCAL_READS]
    return code.co_name == "__eq__" and any([code.co_varnames[0] in names for names in loaded])


def _doubts(instruction: dis.Instruction) -> Iterator[str]:
    """Why an instruction that is not harmless as such is not understood, if so."""
    operation, argument = instruction.opname, instruction.argval
    if operation in _CHAINED and argument in ("format", "format_map"):
        yield "a format that may name attributes"
    elif operation in _ATTRIBUTES:
        if _leads_out(argument):
            yield f"the attribute {argument}"
    elif operation == "IS_OP":
        yield "whether two values are one object"
    elif operation.startswith("CALL_INTRINSIC"):
        if instruction.argrepr not in _INTRINSICS:
            yield f"the instruction {instruction.argrepr}"
    elif operation == "IMPORT_NAME":
        yield f"the module {argument}, imported at run time"
    else:
        yield f"the instruction {operation}"


def _leads_out(attribute: str) -> bool:
    if attribute.startswith("__") and attribute.endswith("__"):
        return attribute not in PLAIN_DUNDERS
    return attribute in _CHANGING or attribute.startswith(_REFLECTIVE)
