"""The text builder: StableHLO written down directly.

Writing text is as fast as building the module through bindings, needs no MLIR library in Python,
and gives readable modules that can be compared, hashed and kept as golden files.  Lowering rules
receive a `Builder`, operands as `Value`s, and return `Value`s; a rule never sees text other than
the names of operations and attributes.

Reference: the StableHLO specification, https://openxla.org/stablehlo/spec.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

from ...core import Equation, Jaxpr, Literal, abstract_token, has_ordered
from ...core.dims import SymbolicDim
from ...core.source_info import scope_path
from .annotations import as_typed
from .fusion_cuts import cuts_of, in_memory
from .key_data_lowering import lower_on_key_data, takes_key_data
from .literals import dense_text, held, host_constant, quoted
from .literals import element_type as element_type
from .literals import i64_array as i64_array
from .literals import i64_matrix as i64_matrix
from .literals import physical_dtype as physical_dtype
from .literals import tensor_type as tensor_type
from .module import PLATFORM_INDEX, PlatformAsked, function_text
from .module import Function as Function
from .module import Module as Module
from .module import Value as Value
from .notes import notes_of
from .regions import Region
from .size_verbs import SIZE, SizeVerbs, check_numbers
from .summands import lower_on_summands, sums_in

if TYPE_CHECKING:
    from .mesh_axes import MeshAxes


@final
class Builder(SizeVerbs):
    """Writes the operations of one block.

    Ordered side effects are linked by a token: each takes that of the one before, and gives one.
    An operation with such effects inside does so too.  A block has the token of the block around
    it, unless it is the body of a loop or a function, which gets one as its last argument.

    Args:
        module: what the block is a part of.
        parent: of the block around it.
        axes: of the mesh whose members run the block, if there is one (`members`); those of the
            block around it if left out.
    """

    __slots__ = (
        *("_constants", "_hoisted", "_located", "_parent", "_symbols", "_token"),
        *("attributes", "axes", "lines", "module"),
    )

    def __init__(
        self, module: Module, parent: Builder | None = None, axes: MeshAxes | None = None
    ) -> None:
        self.module = module
        # Notes to the compiler that operations carry, as MLIR text.
        self.attributes: str = "" if parent is None else parent.attributes
        self.axes: MeshAxes | None = parent.axes if axes is None and parent is not None else axes
        self.lines: list[str] = []
        self._parent = parent
        self._constants: dict[Any, Value] = {}
        # All blocks of one function share its further operands: large constants, and positions.
        self._hoisted: dict[int, tuple[Any, Value]] = {} if parent is None else parent._hoisted
        self._symbols: Mapping[str, Value] = {} if parent is None else parent._symbols
        self._located = 0
        self._token: Value | None = None if parent is None else parent._token

    def new_value(self, aval: Any) -> Value:
        """A value with a fresh name, to be defined by the caller."""
        self.module.counter = n = self.module.counter + 1
        return Value(f"%{n}", aval)

    def token(self) -> Value:
        """The token that the next ordered side effect of this block takes."""
        if self._token is None:
            self._token = self.op("stablehlo.create_token", abstract_token)
        return self._token

    def argument_token(self) -> Value:
        """A token that the caller binds, as that of this block."""
        self._token = self.new_value(abstract_token)
        return self._token

    def elementwise(self, name: str, out: Any, *operands: Value) -> Value:
        """An operation whose operands and result all have the type of `out`."""
        result = self.new_value(out)
        inputs = ", ".join([v.name for v in operands])
        self.lines.append(f"{result.name} = {name} {inputs}{self.noted()} : {tensor_type(out)}")
        return result

    def noted(self) -> str:
        """The attributes of an operation written in short form, from the notes to the compiler."""
        return f" {{{self.attributes}}}" if self.attributes else ""

    def op(
        self,
        name: str,
        out: Any,
        *operands: Value,
        regions: Sequence[str] = (),
        **attributes: Any,
    ) -> Value:
        """Any operation with one result; attributes are MLIR text."""
        return self.ops(name, (out,), *operands, regions=regions, **attributes)[0]

    def ops(
        self,
        name: str,
        outs: Sequence[Any],
        /,
        *operands: Value,
        regions: Sequence[str] = (),
        takes_token: bool = False,
        gives_token: bool = False,
        **attributes: str,
    ) -> list[Value]:
        """Any operation in MLIR's generic form, with any number of results.

        Args:
            name: of the operation.
            outs: the types of its results.
            *operands: its operands.
            regions: texts from `region`.
            takes_token: whether the token of this block is a further operand.
            gives_token: whether a further result is the token of this block from here on.
            **attributes: MLIR text.
        """
        if takes_token:
            operands = (*operands, self.token())
        if gives_token:
            outs = (*outs, abstract_token)
        results = [self.new_value(aval) for aval in outs]
        head = ", ".join([r.name for r in results]) + " = " if results else ""
        inputs = ", ".join([v.name for v in operands])
        bodies = f" ({', '.join(regions)})" if regions else ""
        pairs = ", ".join([f"{k} = {v}" for k, v in attributes.items()])
        if self.attributes and name != "stablehlo.return":
            pairs = f"{pairs}, {self.attributes}" if pairs else self.attributes
        signature = (
            f"({', '.join([tensor_type(v.aval) for v in operands])}) -> "
            f"({', '.join([tensor_type(aval) for aval in outs])})"
        )
        braces = f" {{{pairs}}}" if pairs else ""
        self.lines.append(f'{head}"{name}"({inputs}){bodies}{braces} : {signature}')
        if gives_token:
            self._token = results.pop()
        return results

    def region(
        self,
        avals: Sequence[Any],
        body: Callable[..., Sequence[Value]],
        *,
        takes_token: bool = False,
        gives_token: bool = False,
    ) -> str:
        """A region of one block: `body(builder, *arguments)` returns its results.

        Args:
            avals: of the arguments of the block.
            body: writes the operations.
            takes_token: whether the block's token is a further argument.
            gives_token: whether the block's token is a further result.
        """
        region = self.open_region(avals, takes_token=takes_token, gives_token=gives_token)
        return region.closed(body(region.inner, *region.arguments))

    def open_region(
        self, avals: Sequence[Any], *, takes_token: bool = False, gives_token: bool = False
    ) -> Region:
        """The same, whose operations are still to be written by `inner`."""
        if gives_token:
            self.token()
        inner = Builder(self.module, self)
        arguments = [self.new_value(aval) for aval in avals]
        token = [inner.argument_token()] if takes_token else []
        return Region(inner, arguments, token, gives_token)

    def bind_symbols(self, values: Mapping[str, Value]) -> None:
        """Say what the symbols of sizes are in this block."""
        self._symbols = values

    def symbol_values(self) -> Mapping[str, Value]:
        """The values that the symbols of sizes have in this block."""
        return self._symbols

    def remembered(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """What `compute` writes, once per block."""
        known = self._find_constant(key)
        if known is None:
            known = self._constants[key] = compute()
        return known

    def constant(self, value: Any, aval: Any) -> Value:
        """A constant, or a symbolic size; scalars are written once per block."""
        if type(value) is SymbolicDim:
            return self.size(value, aval)
        array = held(value, aval)
        key = (array.tobytes(), aval) if array.size <= 1 else None
        known = self._find_constant(key) if key is not None else None
        if known is not None:
            return known
        result = self.new_value(aval)
        text = dense_text(array)
        self.lines.append(f"{result.name} = stablehlo.constant {text} : {tensor_type(aval)}")
        if key is not None:
            self._constants[key] = result
            result.element = array.reshape(-1)[0] if array.size else None
        return result

    def _find_constant(self, key: Any) -> Value | None:
        block: Builder | None = self
        while block is not None:
            if key in block._constants:
                return block._constants[key]
            block = block._parent
        return None

    def inline(self, jaxpr: Jaxpr, *operands: Value) -> list[Value]:
        """Write the equations of `jaxpr` into this block."""
        env: dict[Any, Value] = dict(zip(jaxpr.invars, operands, strict=True))
        env.update(zip(jaxpr.constvars, self._constants_of(jaxpr), strict=True))

        def read(atom: Any) -> Value:
            return self.constant(atom.val, atom.aval) if type(atom) is Literal else env[atom]

        outer, cuts = self.attributes, cuts_of(self.module, jaxpr)
        lowered = self._on_each_platform if self.module.written_for is None else self._lowered
        for eqn in jaxpr.eqns:
            start = len(self.lines)
            if eqn.name_stack:
                self.attributes = notes_of(eqn.name_stack) or outer
            outs = tuple([v.aval for v in eqn.outvars])
            results = self._typed(outs, lowered(eqn, [read(a) for a in eqn.invars]))
            for var, x in zip(eqn.outvars, results, strict=True):
                env[var] = in_memory(self, x) if var in cuts else x
            self.attributes = outer
            if self.module.locations:
                self._locate(max(start, self._located), eqn)
        return [read(a) for a in jaxpr.outvars]

    def _constants_of(self, jaxpr: Jaxpr) -> Sequence[Value]:
        avals = tuple([var.aval for var in jaxpr.constvars])
        return self._typed(avals, list(map(self.closed_over, jaxpr.consts, avals)))

    def _typed(self, avals: Sequence[Any], values: Sequence[Value]) -> Sequence[Value]:
        """Values that lie as their types say; members of a mesh have parts of their own."""
        if self.module.num_devices == 1 or self.axes is not None:
            return values
        return [as_typed(self, aval, x) for aval, x in zip(avals, values, strict=True)]

    def _lowered(self, eqn: Equation, inputs: Sequence[Value]) -> Sequence[Value]:
        """Write one equation."""
        primitive, outs = eqn.primitive, tuple([v.aval for v in eqn.outvars])
        if primitive.needs_numbers and self.module.symbols:
            check_numbers(eqn)
        if not primitive.lowers_key_data and takes_key_data(inputs):
            return lower_on_key_data(self, primitive, eqn.params, outs, inputs)
        rules = self.module.rules
        rule = rules[primitive] if rules and primitive in rules else primitive.lower
        if self.module.num_devices > 1 and self.axes is None and sums_in(outs):
            return lower_on_summands(self, eqn, inputs, rule)
        if primitive.multiple_results:
            return rule(self, outs, *inputs, **eqn.params)
        return (rule(self, outs[0], *inputs, **eqn.params),)

    def _on_each_platform(self, eqn: Equation, inputs: Sequence[Value]) -> Sequence[Value]:
        """Write one equation for several platforms: for each, unless its rule asks for none."""
        lines, constants, token = len(self.lines), dict(self._constants), self._token
        try:
            return self._lowered(eqn, inputs)
        except PlatformAsked:
            del self.lines[lines:]
            self._constants, self._token = constants, token
        written: dict[str, Sequence[Value]] = {}
        regions = []
        for platform in self.module.platforms:

            def write(inner: Builder, platform: str = platform) -> Sequence[Value]:
                written[platform] = inner._lowered(eqn, inputs)
                return written[platform]

            with self.module.only_for(platform):
                regions.append(self.region((), write))
        index = self.convert(self._symbols[PLATFORM_INDEX], "int32")
        outs = [v.aval for v in eqn.outvars]
        results = self.ops("stablehlo.case", outs, index, regions=regions)
        for i, result in enumerate(results):
            elements = {platform: values[i].element for platform, values in written.items()}
            if None not in elements.values():
                self.module.elements[result.name] = elements
        return results

    def _locate(self, start: int, eqn: Equation) -> None:
        """Put name and source line of `eqn` on the operations written since `start`."""
        location = quoted(scope_path((*eqn.name_stack, eqn.primitive.name)))
        if eqn.source is not None:
            file = self.module.source_file(eqn.source.file)
            location += f"({quoted(file)}:{eqn.source.line}:0)"
        self.lines[start:] = [f"{line} loc({location})" for line in self.lines[start:]]
        self._located = len(self.lines)

    def closed_over(self, value: Any, aval: Any) -> Value:
        """A constant of a jaxpr; a large one is a further operand of the function."""
        if aval.size * physical_dtype(aval.dtype).itemsize <= self.module.largest_constant:
            return self.constant(host_constant(value), aval)
        return self.hoisted(value, aval)

    def hoisted(self, value: Any, aval: Any) -> Value:
        """A further operand of the function, for which its callers have to find the value."""
        if id(value) not in self._hoisted:
            self._hoisted[id(value)] = value, self.new_value(aval)
        return self._hoisted[id(value)][1]

    def hoisted_operands(self) -> list[tuple[Any, Value]]:
        """What stands for the further operands met so far, and these."""
        return list(self._hoisted.values())

    def callee(self, name: str, jaxpr: Jaxpr) -> Function:
        """`jaxpr` as a private function, written once per module."""
        module = self.module
        key = jaxpr, self.axes, self.attributes, module.written_for, module.repeats
        known = module.callees.get(key)
        if known is None:
            known = function(
                module, module.fresh_name(name), jaxpr.in_avals, jaxpr,
                passes_token=has_ordered(jaxpr.effects), axes=self.axes, noted=self.attributes,
            )  # fmt: skip
            module.callees[key] = known
            module.functions.append(known.text)
        return known

    def call(self, name: str, jaxpr: Jaxpr, *operands: Value) -> list[Value]:
        """Call `jaxpr` as a private function."""
        ordered = has_ordered(jaxpr.effects)
        callee = self.callee(name, jaxpr)
        constants = [self.hoisted(value, aval) for value, aval in callee.hoisted]
        return self.ops(
            "func.call",
            jaxpr.out_avals,
            *self._symbols.values(),
            *operands,
            *constants,
            takes_token=ordered,
            gives_token=ordered,
            callee=f"@{callee.name}",
        )


def function(
    module: Module,
    name: str,
    avals: Sequence[Any],
    write: Callable[..., Sequence[Value]] | Jaxpr,
    *,
    visibility: str = "private ",
    argument_attributes: Mapping[int, str] | None = None,
    result_attributes: Mapping[int, str] | None = None,
    passes_token: bool = False,
    axes: MeshAxes | None = None,
    has_symbols: bool = True,
    noted: str = "",
) -> Function:
    """Write a function of what `write` takes; a token may be its last argument and result.

    In a module with symbols, their values are its first arguments.  Its operations have the
    attributes `noted`.
    """
    builder = Builder(module, axes=axes)
    builder.attributes = noted
    symbols = {name: builder.new_value(SIZE) for name in module.symbols if has_symbols}
    builder.bind_symbols(symbols)
    arguments = [builder.new_value(aval) for aval in avals]
    token = [builder.argument_token()] if passes_token else []
    if isinstance(write, Jaxpr):  # here, where it is one frame of the stack
        results = builder.inline(write, *arguments)
    else:
        results = list(write(builder, *arguments))
    hoisted = builder.hoisted_operands()
    arguments = [*symbols.values(), *arguments]
    arguments += [*[operand for _, operand in hoisted], *token]
    results += [builder.token()] if passes_token else []
    text = function_text(
        f"{visibility}@{name}",
        [(v.name, tensor_type(v.aval)) for v in arguments],
        [(v.name, tensor_type(v.aval)) for v in results],
        builder.lines,
        (argument_attributes or {}, result_attributes or {}),
    )
    return Function(text, name, [(value, operand.aval) for value, operand in hoisted])
