"""The text of a program, in JAX's notation.

Variables are named a, b, …, z, ba, bb, … in the order in which the text binds them; in the
outermost program a result that nothing uses is written ``_``.  A program inside an equation
continues the count, except that a *call* (`jit`) shows its program with the caller's names for
operands and results.  A program that occurs more than once is written once, in front:
``let f = { lambda … } in``.

Each primitive says which of its parameters are printed (`Primitive.printed_params`).
Line breaks are chosen by `util.layout`; text takes time linear in the size of the program.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, final

from ..util.layout import (
    LINE_END,
    NOTHING,
    SPACE,
    Block,
    Break,
    Document,
    Text,
    filled,
    group,
    joined,
    layout,
)
from ..util.records import dataclass
from .atoms import Atom, Literal, Var
from .source_info import scope_path

if TYPE_CHECKING:
    from .effects import Effects
    from .jaxpr import Equation

# Bold blue and magenta.
_STYLES = {"keyword": ("34;1", "39;22"), "type": ("35", "39")}
# Addresses differ from run to run; texts are compared.
_ADDRESS = re.compile(r"(?<= at 0x)[0-9a-f]+")


class Program:
    """What prints itself as a program: the base of `Jaxpr`."""

    __slots__ = ()

    if TYPE_CHECKING:
        invars: tuple[Var, ...]
        outvars: tuple[Atom, ...]
        eqns: tuple[Equation, ...]
        constvars: tuple[Var, ...]
        effects: Effects

    def pretty_print(
        self,
        *,
        source_info: bool = False,
        print_shapes: bool = True,
        custom_pp_eqn_rules: bool = True,
        name_stack: bool = False,
        print_effects: bool = False,
        use_color: bool = False,
        width: int = 80,
    ) -> str:
        """The program as text.

        Args:
            source_info: whether each equation tells the user's line that wrote it.
            print_shapes: whether variables are bound with their type.
            custom_pp_eqn_rules: whether parameters that say nothing are left out.
            name_stack: whether each equation tells the scopes it was written in.
            print_effects: whether the effects of each program are listed.
            use_color: whether to mark keywords and types by terminal colours.
            width: of a line.
        """
        style = PrintStyle(
            source_info, print_shapes, custom_pp_eqn_rules, name_stack, print_effects
        )
        printer = Printer(style, shared_programs(self))
        return layout(printer.whole(self), width, _STYLES if use_color else None)

    def __repr__(self) -> str:
        return self.pretty_print()


@final
@dataclass(frozen=True, slots=True)
class PrintStyle:
    """What is shown; see `Program.pretty_print`."""

    source_info: bool = False
    print_shapes: bool = True
    chosen_params: bool = True
    name_stack: bool = False
    effects: bool = False


def equation_text(eqn: Equation) -> str:
    """One equation; its results are named first."""
    return layout(Printer(PrintStyle()).equation(eqn))


def shared_programs(root: Program) -> dict[Program, str]:
    """Programs that the text of `root` would show more than once, by breadth first; their names.

    What a shared program holds counts as often as the program does, so each is visited twice.
    """
    times: dict[Program, int] = {}
    proposed: dict[Program, str] = {}
    queue = deque([root])
    while queue:
        for eqn in queue.popleft().eqns:
            for program in itertools.chain(*map(_programs_in, eqn.params.values())):
                times[program] = times.get(program, 0) + 1
                if times[program] <= 2:
                    queue.append(program)
                is_call = eqn.primitive.is_call
                proposed.setdefault(program, eqn.params["name"] if is_call else "jaxpr")
    return _without_clashes({p: name for p, name in proposed.items() if times[p] > 1})


def _without_clashes(proposed: dict[Program, str]) -> dict[Program, str]:
    """Different names: ``f``, ``f1``, ``f2``, …."""
    taken: set[str] = set()
    numbers: dict[str, Iterator[int]] = {}
    names = {}
    for program, proposal in proposed.items():
        name = base = proposal.strip("<>")
        while name in taken:
            name = f"{base}{next(numbers.setdefault(base, itertools.count(1)))}"
        taken.add(name)
        names[program] = name
    return names


def _programs_in(value: object) -> Sequence[Program]:
    """The programs that a parameter is, or is a tuple of."""
    if isinstance(value, Program):
        return (value,)
    if type(value) is tuple and value and all([isinstance(item, Program) for item in value]):
        return value
    return ()


def _variable_names(taken: set[str]) -> Iterator[str]:
    for number in itertools.count():
        name = ""
        while number or not name:
            number, digit = divmod(number, 26)
            name = ascii_lowercase[digit] + name
        if name not in taken:
            yield name


@final
class Printer:
    """Makes documents of programs; remembers the names it gives to variables."""

    __slots__ = ("_fresh", "_names", "_shared", "_style")

    def __init__(self, style: PrintStyle, shared: dict[Program, str] | None = None) -> None:
        self._style = style
        self._shared = shared or {}
        self._names: dict[Atom, str] = {}
        self._fresh = _variable_names(set(self._shared.values()))

    def whole(self, program: Program) -> Document:
        """A program after the definitions of those it shares."""
        parts: list[Document] = []
        for shared, name in self._shared.items():
            parts += [_keyword("let "), name, " = ", self.program(shared), _keyword(" in")]
            parts.append(LINE_END)
        self._drop_unused(program)
        return Block([*parts, self.program(program)])

    def _drop_unused(self, program: Program) -> None:
        used = set(program.outvars).union(*[eqn.invars for eqn in program.eqns])
        unused = [v for eqn in program.eqns for v in eqn.outvars if v not in used]
        self._names.update(dict.fromkeys(unused, "_"))

    def program(self, program: Program) -> Document:
        """``{ lambda constvars ; invars . let eqns in (outvars) }``."""
        head, equations, results = self.clauses(program)
        body = Block([SPACE, *joined(Break("; "), equations)], indent=2)
        return group("{ ", *head, body, SPACE, *results, " }", indent=2)

    def clauses(self, program: Program) -> tuple[list[Document], list[Document], list[Document]]:
        """``lambda constvars ; invars . let``, the equations, ``in (outvars)``."""
        constvars, invars = self.binders(program.constvars), self.binders(program.invars)
        head = [_keyword("lambda "), constvars, "; ", invars, ". ", _keyword("let")]
        equations = [self.equation(eqn) for eqn in program.eqns]
        names = [self.atom(a) for a in program.outvars]
        results: list[Document] = [_keyword("in "), "(", filled(names, comma=",")]
        results.append(",)" if len(names) == 1 else ")")
        if self._style.effects and program.effects:
            binders = [self.atom(v) for v in program.invars + program.constvars]
            shown = sorted([effect.described(binders) for effect in program.effects])
            results.append(f" : {{ {', '.join(shown)} }}")
        return head, equations, results

    def equation(self, eqn: Equation) -> Document:
        """``outvars = primitive[params] invars``."""
        if eqn.primitive.is_call:
            self._use_callers_names(eqn, eqn.params["jaxpr"])
        if self._style.chosen_params and eqn.primitive.printed_equation is not None:
            return eqn.primitive.printed_equation(self, eqn)
        binders = [self.binders(eqn.outvars), " = "] if eqn.outvars else []
        primitive = Text(str(eqn.primitive), comments=self.comments(eqn))
        params = self._params(eqn)
        operands = filled([self.atom(a) for a in eqn.invars])
        return Block([*binders, primitive, params, " ", operands])

    def atom(self, atom: Atom) -> str:
        """A literal's value, or the name of a variable."""
        if type(atom) is Literal:
            return repr(atom)
        name = self._names.get(atom)
        if name is None:
            name = self._names[atom] = next(self._fresh)
        return name

    def binders(self, variables: Sequence[Var]) -> Document:
        """``a:f32[3] b:i32[]``."""
        if not self._style.print_shapes:
            return filled([self.atom(v) for v in variables])
        return filled(
            [
                Block((self.atom(v), Text(f":{v.aval.str_short(short_dtypes=True)}", "type")))
                for v in variables
            ]
        )

    def comments(self, eqn: Equation) -> tuple[str, ...]:
        """The line and the scopes of an equation, as far as they are shown."""
        places = (str(eqn.source or "unknown"),) if self._style.source_info else ()
        scopes = (f"[{scope_path(eqn.name_stack)}]",) if self._style.name_stack else ()
        return places + scopes

    def _params(self, eqn: Equation) -> Document:
        params = dict(sorted(eqn.params.items()))
        if self._style.chosen_params:
            params = eqn.primitive.printed_params(eqn.params)
        if not params:
            return ""
        items = [Block((f"{name}=", self._value(value))) for name, value in params.items()]
        return group("[", Block([NOTHING, *joined(SPACE, items)], indent=2), NOTHING, "]")

    def _use_callers_names(self, eqn: Equation, program: Program) -> None:
        if program in self._shared:
            return
        given: set[Atom] = set()
        # Ill-typed programs are printed too, so the lengths may differ.
        pairs = [
            *zip(eqn.invars, program.invars, strict=False),
            *zip(eqn.outvars, program.outvars, strict=False),
        ]
        for outer, inner in pairs:
            named = type(inner) is Literal or inner in self._names
            if not named and type(outer) is Var and outer not in given:
                self._names[inner] = self.atom(outer)
                given.add(outer)

    def _value(self, value: object) -> Document:
        programs = _programs_in(value)
        if not programs:
            if type(value) is frozenset and not value:
                return "frozenset({})"
            return _ADDRESS.sub("X" * 12, str(value))
        documents = [self._shared.get(p) or self.program(p) for p in programs]
        if value is programs[0]:
            return documents[0]
        return group("(", Block([NOTHING, *joined(SPACE, documents)], indent=2), NOTHING, ")")


@final
class Listing:
    """The lines of a program, for error text: binders, equations, results."""

    __slots__ = ("_lines", "_printer")

    def __init__(self, program: Program) -> None:
        printer = Printer(PrintStyle(source_info=True), shared_programs(program))
        head, equations, results = printer.clauses(program)
        self._printer = printer
        self._lines = [Block(head), *equations, Block(results)]

    def typed_name(self, var: Var) -> str:
        """``a:f32[3]``."""
        return f"{self._printer.atom(var)}:{var.aval.str_short(short_dtypes=True)}"

    def around(self, number: int, context: int = 2) -> str:
        """Some lines before and after line `number`, which is marked."""
        first = max(number - context, 0)
        shown = []
        for position, line in enumerate(self._lines[first : number + context + 1], start=first):
            text = layout(line).replace("\n", "\n      ")
            shown.append(("  --> " if position == number else "      ") + text)
        return "\n".join(shown)


def _keyword(word: str) -> Text:
    return Text(word, "keyword")
