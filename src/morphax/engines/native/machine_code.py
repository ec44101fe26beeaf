"""Machine code from loop programs: LLVM optimises them for this machine and emits an object file.

Object code can be kept on disk: it names functions of the C library, and no address.  Its key says
all that it depends on: the text of the program, the processor and its features, and the version of
llvmlite.
"""

from __future__ import annotations

import hashlib
import platform
from functools import cache, partial
from math import inf
from typing import TYPE_CHECKING, Any, Final, final

from ...runtime.interruptible import interruptible
from ...util.records import dataclass
from ..loops.program import LoopProgram
from ..xla.compile_cache.keys import processor
from .compiler import llvm
from .linking import can_link, linked
from .llvm_text import ENTRY, Scratch, efforts_of, llvm_module
from .products import BLAS_NAMES, address_in_blas
from .routines import ROUTINES, address_of_routine
from .thread_steps import SHARE, address_of_sharing

if TYPE_CHECKING:
    from llvmlite import binding

_FORMAT: Final = "5"
"""Raised when the same text is to become other code."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class MachineCode:
    """A function of machine code, which lives as long as this.

    Args:
        address: of ``void run(const void *const *arguments, void *const *results, void *scratch)``:
            pointers to the elements of the operands and of the results, and to memory.
        scratch_bytes: how much memory that is, from a multiple of 64 on; if 0, any pointer will do.
        object_code: what `load` makes the function of, on a machine with the same key.
        owner: keeps the code.
        worth_improving: after so many seconds of runs it is made again, with more effort.
    """

    address: int
    scratch_bytes: int
    object_code: bytes
    owner: Any
    worth_improving: float = inf


def compile_loops(
    program: LoopProgram, text: str | None = None, effort: int | None = None
) -> MachineCode:
    """Machine code for this machine; of a program that `check` accepts.

    Args:
        program: what to compile.
        text: of its `llvm_module`, where that is known.
        effort: how much LLVM is to do; by default as much as is worth it for what runs for long.
    """
    return load(program, object_code(text or llvm_module(program), effort))


def load(program: LoopProgram, code: bytes) -> MachineCode:
    """The function of object code that was made from the program, with the same `key_of`."""
    size = Scratch(program).size
    if can_link():
        pages, address = linked(code, ENTRY)
        return MachineCode(address, size, code, pages)
    binding = llvm()
    for name in BLAS_NAMES:
        if name.encode() in code:
            binding.add_symbol(name, address_in_blas(name))
    for name in ROUTINES:
        if name.encode() in code:
            binding.add_symbol(name, address_of_routine(name))
    binding.add_symbol(SHARE, address_of_sharing())
    # The compiler owns its machine.
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _new_machine(2))
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return MachineCode(engine.get_function_address(ENTRY), size, code, engine)


def key_of(program: LoopProgram, text: str | None = None, effort: int | None = None) -> str:
    """What object code depends on, as a digest; `text` and `effort` as for `compile_loops`."""
    text = text or llvm_module(program)
    effort = efforts_of(text)[-1] if effort is None else effort
    parts = [text, str(effort), *_surroundings(), _FORMAT]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def object_code(text: str, effort: int | None = None) -> bytes:
    """A module, optimised, as an object file.

    What there is to find out about loops is in the text (`llvm_statements`), and expressions are
    simplified there and once more when instructions are selected.  So few passes are left to LLVM:
    functions that are called once, memory that is registers, fewer branches.

    The exception of a signal's handler in between could have llvmlite free something twice, which
    ends the process: it is called on a thread where no handlers run.
    """
    effort = efforts_of(text)[-1] if effort is None else effort
    llvm()
    return interruptible(partial(_emitted, text, 2 if effort else 0))


def _emitted(text: str, level: int) -> bytes:
    binding = llvm()
    passes, builder = _passes(level)
    # The module keeps its context, which nobody closes before it.
    with binding.parse_assembly(text, binding.create_context()) as module:
        module.verify()
        passes.run(module, builder)
        code: bytes = _machine(level).emit_object(module)
    return code


@cache
def _surroundings() -> tuple[str, ...]:
    """The compiler and the machine: as the system describes it, for LLVM need not be loaded."""
    import llvmlite

    return llvmlite.__version__, platform.system(), platform.machine(), processor()


@cache
def _host() -> tuple[str, str]:
    """The processor, and what it has."""
    binding = llvm()
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


@cache
def _machine(level: int) -> binding.TargetMachine:
    """How code is made for this machine, with so much effort."""
    return _new_machine(level)


@cache
def _passes(level: int) -> tuple[binding.ModulePassManager, binding.PassBuilder]:
    """What is done to each module.  Of each builder llvmlite keeps 1.5 KB when it is gone."""
    binding = llvm()
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    options = binding.create_pipeline_tuning_options()
    return passes, binding.create_pass_builder(_machine(level), options)


def _new_machine(level: int) -> binding.TargetMachine:
    binding = llvm()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    processor, features = _host()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(
        cpu=processor,
        features=features,
        opt=level,
        reloc="pic",
        codemodel="small" if can_link() else "jitdefault",
    )
