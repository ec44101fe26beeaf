"""`custom_partitioning`: functions whose division among devices the user defines.

On one device the function itself is compiled, and eagerly it just runs.  In a program on several
devices it is one operation: a sharding rule tells the compiler how splits go from operands to
results, and when all is decided the user's `partition` gives the program of each device's parts
(see `engines.xla.partitioners`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, final

from .. import tree
from ..control.custom.custom_rules import BoundCall, bind_call
from ..control.program_call import ProgramCall
from ..core import (
    Jaxpr,
    NoRule,
    Param,
    aval_of,
    frames_hidden,
    stage_closed,
    without_references,
)
from ..engines.xla.partitioners import divided
from ..engines.xla.stablehlo import Builder, Value
from ..lax.ground.axes import check_callable
from ..transforms.flattening import debug_info, function_label
from ..util.messages import described, message
from .partitions import WHERE, Partition
from .sharding_rules import SdyShardingRule, parsed_rule

_REFUSED = "only `partition` knows how the operation is divided"


@final
class CustomPartitioning(ProgramCall):
    """Apply `call`, divided among devices as `partition` says.

    Params:
        call: the program.
        partition: of the user.
        sharding_rule: a rule, a function that gives one, or None.
        infer_sharding_from_operands, propagate_user_sharding: of the user, for compilers without
            rules: those callbacks that a rule stands for are `None`.
        decode_shardings: whether `partition` is given shardings over the mesh of the program.
        in_tree, out_tree: structures of the arguments and of the result.
        static_args: arguments that are Python values, which all functions get first.
    """

    name = "custom_partitioning"
    program = "call"
    plain_program = "call"
    jvp = NoRule("jvp", _REFUSED, error=NotImplementedError)
    transpose = NoRule("transpose", _REFUSED, error=NotImplementedError)
    batch = NoRule("batch", _REFUSED, error=NotImplementedError)
    collect = NoRule("collect", _REFUSED, error=NotImplementedError)

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, call: Jaxpr, **params: Param
    ) -> list[Value]:
        places = b.module.places
        if places is None or len(places.devices) == 1 or b.axes is not None:
            return b.inline(without_references(call), *operands)
        partition = Partition(call, places, **params)
        return divided(b, partition, outs, *operands, rule=partition.rule())


custom_partitioning_p = CustomPartitioning()


@final
class custom_partitioning:
    """A function that is divided among devices as the user says, in programs on several.

    It cannot be differentiated or batched: put `custom_vjp` and `custom_vmap` around it.

    Args:
        fun: function of arrays or trees, of positional arguments.
        static_argnums: positions of arguments that are Python values.

    Raises:
        AttributeError: at a call, if `def_partition` has not been called.
        NotImplementedError: at its derivative, or under `vmap`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental.custom_partitioning import custom_partitioning
        >>> @custom_partitioning
        ... def my_fft(x):
        ...     return jnp.fft.fft(x)
        >>> def partition(mesh, arg_shapes, result_shape):
        ...     return mesh, jnp.fft.fft, result_shape.sharding, (arg_shapes[0].sharding,)
        >>> _ = my_fft.def_partition(
        ...     partition, sharding_rule="... i -> ... i", need_replication_factors=("i",)
        ... )
        >>> jax.jit(my_fft)(jnp.ones(4)).real
        Array([4., 0., 0., 0.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()) -> None:
        check_callable(f"{WHERE}, argument fun", fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.static_argnums = (
            (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        )
        self.partition: Callable[..., Any] | None = None
        self._params: dict[str, Any] = {}

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: str | SdyShardingRule | Callable[..., Any] | None = None,
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> Callable[..., Any]:
        """Say how the function is divided.

        All functions are given the static arguments first.  Shapes are trees like the arguments
        (a tuple) and the result, of `ShapeDtypeStruct`s with shardings.

        Args:
            partition: (mesh, arg_shapes, result_shape) → (mesh, function of each device's parts,
                shardings of the result, those of the arguments).  In the function, collectives may
                name the axes of the mesh.  The compiler moves values where the shardings ask for
                it.
            infer_sharding_from_operands, propagate_user_sharding: for compilers without rules;
                this one never calls them.
            decode_shardings: give `partition` shardings over the mesh, not the compiler's.
            sharding_rule: an `SdyShardingRule`; a text like ``"i j, j k -> i k"``; or a function of
                the mesh, the types of operands and those of results, as MLIR knows them, that
                returns one of these.  Without one the result is whole on each device.
            reduction_factors, need_replication_factors, permutation_factors, **factor_sizes: of the
                rule, if that is a text: see `SdyShardingRule`.

        Returns:
            `partition`.

        Raises:
            TypeError: if the rule is something else, or `partition` cannot be called.
            ValueError: if it is no rule.
        """
        check_callable("def_partition, argument partition", partition)
        special = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
        }
        if sharding_rule is not None and not isinstance(sharding_rule, SdyShardingRule):
            if callable(sharding_rule):
                sharding_rule = functools.partial(_made_rule, sharding_rule, special, factor_sizes)
            else:
                sharding_rule = parsed_rule(sharding_rule, special, factor_sizes)
        needed = sharding_rule is None
        self.partition = partition
        self._params = {
            "partition": partition,
            "infer_sharding_from_operands": infer_sharding_from_operands if needed else None,
            "propagate_user_sharding": propagate_user_sharding if needed else None,
            "decode_shardings": bool(decode_shardings),
            "sharding_rule": sharding_rule,
        }
        return partition

    @frames_hidden
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        label = function_label(self.fun)
        if self.partition is None:
            raise AttributeError(
                message(
                    f"{WHERE} of {label}",
                    given="a call before def_partition",
                    expected="a function that says how it is divided",
                    fix="Call f.def_partition(partition, sharding_rule=...) first.",
                )
            )
        call = bind_call(WHERE, self.fun, self.static_argnums, args, kwargs)
        _check_static(label, self.static_argnums, call)
        flat = call.flat
        info = debug_info(WHERE, flat.function, flat.in_tree)
        jaxpr = stage_closed(flat, [aval_of(x) for x in call.leaves], info)
        args_of_tree, _ = flat.in_tree.unflatten(range(len(call.leaves)))
        outs = custom_partitioning_p.bind(
            *call.leaves,
            call=jaxpr,
            **self._params,
            in_tree=tree.structure(args_of_tree),
            out_tree=flat.out_tree,
            static_args=call.fixed,
        )
        return flat.out_tree.unflatten(outs)


def _check_static(label: str, numbers: Sequence[int], call: BoundCall) -> None:
    where = f"{WHERE} of {label}, argument static_argnums"
    if len(call.fixed) != len(numbers):
        raise IndexError(
            message(
                where,
                given=f"{tuple(numbers)}, and {len(call.leaves)} other arguments",
                expected="positions of arguments",
                fix="Number the arguments from 0.",
            )
        )
    for value in call.fixed:
        if not isinstance(value, Hashable):
            raise TypeError(
                message(
                    where,
                    given=f"the argument {described(value)}",
                    expected="a value that can be hashed, as parameters of programs are",
                    fix="Pass a tuple instead of a list, for instance.",
                )
            )


def _made_rule(
    function: Callable[..., Any],
    special: Mapping[str, tuple[str, ...]],
    factor_sizes: Mapping[str, int],
    *args: Any,
) -> SdyShardingRule:
    """The rule that a function of the user gives."""
    rule = function(*args)
    if isinstance(rule, SdyShardingRule):
        return rule
    if isinstance(rule, str):
        return parsed_rule(rule, special, factor_sizes)
    raise ValueError(
        message(
            f"{WHERE}, argument sharding_rule",
            given=f"a function that returned {described(rule)}",
            expected="an SdyShardingRule or a string",
            fix="Return 'i j -> i j', for instance.",
        )
    )
