"""Machine code for chains that have taken long.

A chain is computed step by step, each of which reads and writes memory of the nearest cache.  As
machine code of the native engine its operations stay in registers.  To make that takes some
milliseconds, so it is a rule of when to buy what one rents: once the runs of a chain have taken as
long as the code costs.  Code that another process has made costs less, and is asked for first.

Only operations that are rounded exactly are put together; functions of NumPy, special functions and
draws between them are done as ever, so numbers have the same bits.  One piece of code is for blocks
of `_BLOCK` numbers, whatever shape arrays have.  See docs/design/eager-replay.md.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from ...config import current as current_config
from ...core import Atom, Equation, Jaxpr, Literal, ShapedArray, Var, aval_of, stage_closed
from .. import native as machine
from ..engine import Options
from ..native.compiler import fault_of_compiler
from .fusion import Chain, Operation, dtype_name, native

if TYPE_CHECKING:
    from ..loops import LoopProgram
    from ..native.machine_code import MachineCode

_logger: Final = logging.getLogger(__name__)
_BLOCK: Final[int] = 0 if native is None else native.block_of_code
_MOST_EQUATIONS: Final = 200
# What it takes to find the kept code of a function, and to load the engine for that.
_SECONDS_OF_KEPT: Final = 2.5e-3
_SECONDS_OF_ENGINE: Final = 0.03
# What LLVM takes for a function, for an operation, and to be loaded.
_SECONDS_OF_A_PART: Final = 5e-3
_SECONDS_OF_AN_EQUATION: Final = 3e-4
_SECONDS_OF_LLVM: Final = 0.15
_EXACT: Final = frozenset(
    "add sub mul div neg abs square floor ceil round_even round_away is_finite sign sqrt rsqrt max "
    "min eq ne lt le gt ge and or xor not shift_left shift_right_logical shift_right_arithmetic "
    "select clamp repeat population_count clz nextafter".split()
)

Part = tuple[int, Sequence[int], Sequence[int]] | int


@final
@dataclass
class _Rent:
    """How long runs of chains have taken in all, for which code could have been bought."""

    seconds: float = 0.0


_rent: Final = _Rent()


def kernel_with_code(chain: Chain) -> Callable[..., Any]:
    """The kernel of a chain of many numbers, which gets machine code when that is worth it."""
    kernel = chain.kernel()
    parts = list(_parts(chain)) if _may_have_code(chain) else []
    groups = [part for part in parts if type(part) is list]
    if any([len(group) > 1 for group in groups]):
        count = sum(map(len, groups))
        seconds = _SECONDS_OF_A_PART * len(groups) + _SECONDS_OF_AN_EQUATION * count
        first = min(_SECONDS_OF_KEPT * len(groups), seconds)
        native.buy_after(kernel, first, _Purchase(chain, parts, first, seconds - first))
    return kernel


def _may_have_code(chain: Chain) -> bool:
    """Whether there can be code: where only it touches truth values."""
    if len(chain.equations) > _MOST_EQUATIONS or fault_of_compiler():
        return False
    return all([_is_exact(name) or not _has_flags(eqn) for name, eqn in chain.equations])


def _is_exact(name: Operation) -> bool:
    """Whether an operation of numbers of 32 or 64 bits is rounded exactly, or not at all."""
    if type(name) is not str or "float16" in name:
        return False
    return "_of_" in name or "_as_" in name or name.rpartition("_")[0] in _EXACT


def _has_flags(eqn: Equation) -> bool:
    """Whether some numbers have another form in registers than in memory."""
    names = [dtype_name(aval_of(a).dtype) for a in (*eqn.invars, *eqn.outvars)]
    return not {"bool", "bfloat16", "float16"}.isdisjoint(names)


def _parts(chain: Chain) -> Iterator[list[Equation] | int]:
    """What is one function, in an order in which it can be, and the numbers of single steps."""
    made: set[Atom] = {*chain.inputs}
    left = list(enumerate(chain.equations))

    def is_ready(eqn: Equation) -> bool:
        return all([type(a) is Literal or a in made for a in eqn.invars])

    while left:
        group: list[Equation] = []
        later: list[tuple[int, tuple[Operation, Equation]]] = []
        for item in left:
            name, eqn = item[1]
            if _is_exact(name) and is_ready(eqn):
                group.append(eqn)
                made.update(eqn.outvars)
            else:
                later.append(item)
        if group:
            yield group
        left = []
        for item in later:
            number, (name, eqn) = item
            if not _is_exact(name) and is_ready(eqn):
                yield number
                made.update(eqn.outvars)
            else:
                left.append(item)


@final
@dataclass
class _Purchase:
    """Buys the code of a chain, for `native.buy_after`: kept code, or else new code later.

    Args:
        chain: whose code.
        parts: of the chain.
        wait: runs have taken so many seconds since the last call.
        more: so much longer new code takes than to look for what is kept; `None` after that.
    """

    chain: Chain
    parts: Sequence[list[Equation] | int]
    wait: float
    more: float | None

    def __call__(self) -> tuple[list[Any], list[Part], int] | float | None:
        """The code; after how many seconds to ask again; `None` for never."""
        _rent.seconds += self.wait
        if not current_config().chain_code:
            return self.wait
        try:
            return self._bought()
        except Exception as error:
            _logger.warning("a chain of operations has no machine code: %s", error)
            return None

    def _bought(self) -> tuple[list[Any], list[Part], int] | float:
        """The code, if it is time to buy it; else after how many seconds to ask again."""
        if self.more is not None:
            if not _can_buy(f"{machine.__name__}.translation", _SECONDS_OF_ENGINE):
                return self.wait
            code = _code(self.chain, self.parts, machine.kept_machine_code_of)
            if code is not None:
                return code
            self.wait, self.more = self.more, None
            if self.wait > 0:
                return self.wait
        if _can_buy("llvmlite.binding", _SECONDS_OF_LLVM):
            code = _code(self.chain, self.parts, machine.machine_code_of)
            assert code is not None, "what is not kept is made"
            return code
        return self.wait


def _can_buy(module: str, seconds: float) -> bool:
    """Whether a module is loaded, or chains have taken as long as that takes."""
    return module in sys.modules or _rent.seconds >= seconds


def _code(
    chain: Chain,
    parts: Sequence[list[Equation] | int],
    machine_code_of: Callable[[LoopProgram], MachineCode | None],
) -> tuple[list[Any], list[Part], int] | None:
    """What keeps the code, the parts of a chain, and how much memory they need in between.

    `None` if there is no machine code of a part.
    """
    registers, _ = chain.registers()
    owners: list[Any] = []
    found: list[Part] = []
    scratch = 0
    for part in parts:
        if type(part) is int:
            found.append(part)
            continue
        assert type(part) is list, "there are two kinds"
        made = dict.fromkeys([eqn.outvars[0] for eqn in part])
        rest = {eqn for _, eqn in chain.equations}.difference(part)
        elsewhere = {a for eqn in rest for a in eqn.invars}
        read = [a for eqn in part for a in eqn.invars if type(a) is Var and a not in made]
        inputs = list(dict.fromkeys(read))
        outputs = [v for v in made if v in elsewhere or v in chain.outputs]
        jaxpr = _program(part, inputs, outputs)
        program = machine.translated(jaxpr, Options("chain"))
        machine.forget(jaxpr)
        dtypes = [[aval_of(x).dtype for x in of] for of in (jaxpr.outvars, outputs)]
        assert dtypes[0] == dtypes[1], "the code writes as many bytes as the chain's memory has"
        code = machine_code_of(program.loops)
        if code is None:
            return None
        owners.append(code)
        scratch = max(scratch, code.scratch_bytes)
        kept = [inputs[i] for i in program.kept]
        reads, writes = [[registers[id(v)] for v in of] for of in (kept, outputs)]
        found.append((code.address, reads, writes))
    return owners, found, scratch


def _program(equations: Sequence[Equation], inputs: Sequence[Var], outputs: Sequence[Var]) -> Jaxpr:
    """The equations, of blocks in place of whole arrays."""

    def on_blocks(*operands: Any) -> list[Any]:
        env: dict[Atom, Any] = dict(zip(inputs, operands, strict=True))
        for eqn in equations:
            given = [a.val if type(a) is Literal else env[a] for a in eqn.invars]
            sizes = {"shape": (_BLOCK,)} if "shape" in eqn.params else {}
            env[eqn.outvars[0]] = eqn.primitive.bind(*given, **(eqn.params | sizes))
        return [env[v] for v in outputs]

    return stage_closed(on_blocks, [_block_of(v) for v in inputs])


def _block_of(v: Var) -> ShapedArray:
    aval = aval_of(v)
    return ShapedArray((_BLOCK,) if aval.shape else (), aval.dtype)
