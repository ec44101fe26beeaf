"""MLIR types, attributes and constants from avals and Python values.

All need a current MLIR context, which a lowering rule has; elsewhere
``with mlir.make_ir_context():`` makes one current.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from typing import Any, Protocol, final

import numpy as np

from ..core import AbstractToken, ShapedArray, aval_of
from ..engines.xla.literals import host_constant
from ..engines.xla.mlir_context import bindings, dialect
from ..engines.xla.mlir_context import new_context as make_ir_context
from ..engines.xla.mlir_rules import constant_value, flat_values, type_of
from ..engines.xla.stablehlo import element_type
from ..tree import KeyPath, PyTreeDef, flatten, flatten_with_path, is_tree_node
from ..util.messages import described, message

__all__ = [
    "ConstantHandler",
    "aval_to_ir_type",
    "aval_to_ir_types",
    "dense_int_array",
    "dense_int_elements",
    "dtype_to_ir_type",
    "flatten_ir_types",
    "flatten_ir_values",
    "i32_attr",
    "i64_attr",
    "ir_attribute",
    "ir_constant",
    "ir_constants",
    "ir_tree_registry",
    "ir_type_handlers",
    "make_ir_context",
    "module_to_bytecode",
    "module_to_string",
    "register_constant_handler",
    "shape_tensor",
    "token_type",
    "unflatten_ir_values_like_types",
]


def dtype_to_ir_type(dtype: Any) -> Any:
    """The MLIR type of the elements of an array."""
    return bindings().Type.parse(element_type(np.dtype(dtype)))


ir_type_handlers: dict[type, Callable[[Any], Any]] = {
    ShapedArray: type_of,
    AbstractToken: type_of,
}
"""The MLIR type (or types) of an aval by the class of the aval, for `aval_to_ir_types`."""


def aval_to_ir_type(ctx: Any, aval: Any) -> Any:
    """The MLIR type of an aval that is held by one value; `ctx` is the module context of a rule."""
    (type_,) = aval_to_ir_types(ctx, aval)
    return type_


def aval_to_ir_types(ctx: Any, aval: Any) -> tuple[Any, ...]:
    """The MLIR types that hold a value of an aval.

    Raises:
        TypeError: if the class of the aval is not in `ir_type_handlers`.
    """
    if type(aval) not in ir_type_handlers:
        raise TypeError(
            message(
                "mlir.aval_to_ir_types",
                given=f"{aval} of type {type(aval).__name__}",
                expected=f"one of {', '.join([t.__name__ for t in ir_type_handlers])}",
                fix="Set ir_type_handlers[type(aval)] = function.",
            )
        )
    return tuple(flat_values(ir_type_handlers[type(aval)](aval)))


def token_type(context: Any = None) -> Any:
    """The MLIR type of tokens, which order side effects."""
    return dialect("stablehlo").TokenType.get(context)


class ConstantHandler(Protocol):
    """Emits a constant: value, aval (`None` for that of the value) → MLIR value or values."""

    def __call__(self, val: Any, aval: Any | None) -> Any: ...


_constant_handlers: dict[type, ConstantHandler] = {}


def register_constant_handler(type_: type, handler_fun: ConstantHandler) -> None:
    """Let `ir_constants` emit values of a type by a function.

    Constants of whole programs are NumPy's to convert, by `__array__` of the type or by
    `xla.canonicalize_dtype_handlers`.
    """
    _constant_handlers[type_] = handler_fun


def ir_constant(val: Any, *, const_lowering: Any = None, aval: Any = None) -> Any:
    """A constant as an MLIR value.

    Args:
        val: an array or a scalar; NumPy values keep their dtype.
        const_lowering: accepted for compatibility; rules get an empty table.
        aval: its type, if that differs.
    """
    (value,) = ir_constants(val, const_lowering=const_lowering, aval=aval)
    return value


def ir_constants(val: Any, *, const_lowering: Any = None, aval: Any = None) -> tuple[Any, ...]:
    """The MLIR values that hold a constant: one, unless a handler of its type makes more."""
    for base in type(val).__mro__:
        if base in _constant_handlers:
            return tuple(flat_values(_constant_handlers[base](val, aval)))
    return (_array_constant(val, aval),)


def _array_constant(val: Any, aval: Any) -> Any:
    host = host_constant(val)
    if aval is None and isinstance(host, np.ndarray | np.generic):
        return constant_value(host, ShapedArray(host.shape, host.dtype))
    return constant_value(host, aval_of(host) if aval is None else aval)


def shape_tensor(ctx: Any, sizes: Sequence[Any]) -> Any:
    """A vector of int32 sizes, which are numbers or MLIR values of rank 0."""
    hlo, ir = dialect("stablehlo"), bindings()
    if not any(isinstance(size, ir.Value) for size in sizes):
        return ir_constant(np.asarray(sizes, np.int32))
    vector = type_of(ShapedArray((1,), np.int32))
    scalar = ir.Type.parse("tensor<i32>")
    parts = []
    for size in sizes:
        value = size if isinstance(size, ir.Value) else ir_constant(np.int32(size))
        if value.type != scalar:
            value = hlo.ConvertOp(scalar, value).result
        parts.append(hlo.ReshapeOp(vector, value).result)
    return hlo.ConcatenateOp(parts, i64_attr(0)).result


def i32_attr(i: int) -> Any:
    """A 32-bit integer."""
    return bindings().IntegerAttr.get(bindings().IntegerType.get_signless(32), i)


def i64_attr(i: int) -> Any:
    """A 64-bit integer."""
    return bindings().IntegerAttr.get(bindings().IntegerType.get_signless(64), i)


def dense_int_array(values: Sequence[int], context: Any = None) -> Any:
    """A list of 64-bit integers."""
    return bindings().DenseI64ArrayAttr.get([int(v) for v in values], context)


def dense_int_elements(xs: Any) -> Any:
    """A constant array of 64-bit integers."""
    return bindings().DenseIntElementsAttr.get(np.asarray(xs, np.int64))


_ATTRIBUTES: dict[type, Callable[[Any], Any]] = {
    bool: lambda x: bindings().BoolAttr.get(x),
    int: lambda x: i64_attr(x),
    float: lambda x: bindings().FloatAttr.get(bindings().F64Type.get(), x),
    str: lambda x: bindings().StringAttr.get(x),
    np.dtype: lambda x: bindings().TypeAttr.get(dtype_to_ir_type(x)),
    np.generic: lambda x: _scalar_attribute(x),
    np.ndarray: lambda x: bindings().DenseElementsAttr.get(x),
    list: lambda x: bindings().ArrayAttr.get([ir_attribute(item) for item in x]),
    tuple: lambda x: bindings().ArrayAttr.get([ir_attribute(item) for item in x]),
    dict: lambda x: bindings().DictAttr.get({k: ir_attribute(v) for k, v in x.items()}),
}


def _scalar_attribute(x: np.generic) -> Any:
    type_ = dtype_to_ir_type(x.dtype)
    if x.dtype.kind in "biu":
        return bindings().IntegerAttr.get(type_, int(x))
    return bindings().FloatAttr.get(type_, float(x))


def ir_attribute(val: Any) -> Any:
    """A Python value as an MLIR attribute.

    Raises:
        TypeError: if there is no attribute for its type.
    """
    if isinstance(val, bindings().Attribute):
        return val
    for base in type(val).__mro__:
        if base in _ATTRIBUTES:
            return _ATTRIBUTES[base](val)
    raise TypeError(
        message(
            "mlir.ir_attribute",
            given=described(val),
            expected="a number, a string, a dtype, an array, or lists and dicts of them",
            fix="Make the attribute with mlir.ir.Attribute.parse.",
        )
    )


@final
class IrTreeRegistry:
    """What trees of MLIR values and types are: lists and tuples in each other; all else is a leaf.

    Classes of users cannot be added.

    Example:
        >>> from morphax.interpreters.mlir import ir_tree_registry
        >>> leaves, treedef = ir_tree_registry.flatten(["a", ("b", None)])
        >>> leaves, treedef.unflatten([1, 2, 3])
        (['a', 'b', None], [1, (2, 3)])
    """

    __slots__ = ()

    def flatten(
        self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[Any], PyTreeDef]:
        """The leaves, and the tree without them."""
        return flatten(tree, lambda x: self._is_leaf(x, leaf_predicate))

    def flatten_with_path(
        self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
        """The leaves with their places, and the tree without them."""
        return flatten_with_path(tree, lambda x: self._is_leaf(x, leaf_predicate))

    def flatten_one_level(self, tree: Any) -> tuple[Any, None] | None:
        """The children of a list or tuple and `None`; `None` alone for a leaf."""
        return (tree, None) if self.is_node(type(tree)) else None

    def is_node(self, type: type) -> bool:
        """Whether a class is one of lists or tuples."""
        return issubclass(type, list | tuple) and is_tree_node(type)

    def _is_leaf(self, x: Any, leaf_predicate: Callable[[Any], bool] | None) -> bool:
        return not self.is_node(type(x)) or (leaf_predicate is not None and leaf_predicate(x))


ir_tree_registry = IrTreeRegistry()


def flatten_ir_values(xs: Iterable[Any]) -> list[Any]:
    """The MLIR values in nested sequences, in order."""
    return ir_tree_registry.flatten(list(xs))[0]


def flatten_ir_types(xs: Iterable[Any]) -> list[Any]:
    """The MLIR types in nested sequences, in order."""
    return ir_tree_registry.flatten(list(xs))[0]


def unflatten_ir_values_like_types(xs: Iterable[Any], ys: Sequence[Any]) -> list[Any]:
    """Values in the nesting of the types `ys`, whose inner sequences become tuples."""
    values = iter(xs)
    single = bindings().Type
    return [next(values) if isinstance(y, single) else tuple([next(values) for _ in y]) for y in ys]


def module_to_string(module: Any, enable_debug_info: bool | None = None) -> str:
    """The text of an MLIR module, with source lines if `enable_debug_info`."""
    return str(module.operation.get_asm(enable_debug_info=bool(enable_debug_info)))


def module_to_bytecode(module: Any) -> bytes:
    """An MLIR module in its binary form."""
    output = BytesIO()
    module.operation.write_bytecode(file=output)
    return output.getvalue()
