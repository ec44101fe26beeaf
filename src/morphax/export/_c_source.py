"""`morphax.export_c`: a function of arrays as one C file that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from .. import tree
from ..core import frames_hidden
from ..engines.loops import loop_program
from ..engines.loops.c_names import is_function_name, parameter_names
from ..engines.loops.c_source import c_file, workspace_bytes
from ..engines.loops.memory import with_shared_memory
from ..lax.ground.axes import check_callable
from ..transforms.flattening import argument_names
from ..transforms.make_jaxpr import make_jaxpr
from ..util.messages import described, message
from ..util.records import dataclass


@final
@dataclass(frozen=True)
class CSource:
    """A function in C99.

    Args:
        name: of the function.
        source: text of the file ``name.c``.
        header: text of the file ``name.h``, for C and C++.
        workspace_bytes: memory that a caller must hand over; 0 if the function has no such
            argument.
    """

    name: str
    source: str
    header: str
    workspace_bytes: int

    def write(self, directory: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write both files into a directory, which is made if there is none; their paths."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        paths = folder / f"{self.name}.c", folder / f"{self.name}.h"
        for path, text in zip(paths, (self.source, self.header), strict=True):
            path.write_text(text, encoding="utf-8")
        return paths


@frames_hidden
def export_c(
    fun: Callable[..., Any], *args_specs: Any, name: str | None = None, **kwargs_specs: Any
) -> CSource:
    """A function of arrays as C99 that needs nothing but ``math.h`` and ``string.h``.

    Loops, branches, derivatives and random numbers are written out, for arrays of exactly these
    shapes.  The C function takes one argument for each leaf of the arguments, and then one for each
    leaf of the result: arrays as pointers to their elements, row-major; scalar arguments by value.
    It allocates no memory, keeps none between calls, and may run in several threads.  Where it
    needs much memory in between, its last argument is a pointer to a struct for that.

    Results are those of `jit` up to the rounding of sums and of ``math.h``; integers, comparisons,
    indices and random bits are the same.  See docs/design/loop-programs.md.

    Args:
        fun: function of arrays or trees.
        *args_specs: arrays, numbers or `jax.ShapeDtypeStruct`, or trees of them, as for `fun`; of
            dtype bool, a float or an integer; narrow floats are passed as their bits.
        name: of the C function; that of `fun` if `None`.
        **kwargs_specs: arguments by keyword.

    Returns:
        The texts of the source file and of its header, which can `write` themselves.

    Raises:
        TypeError: `fun` is not callable, or an operation or dtype of the program has no form in C.
        ValueError: `name` is none that a C function can have.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> def damped(x, v):
        ...     return -x - 0.1 * v
        >>> x = jax.ShapeDtypeStruct((8,), jnp.float32)
        >>> print(jax.export_c(damped, x, x).source)
        #include "damped.h"
        #include <math.h>
        <BLANKLINE>
        void damped(const float x[restrict 8], const float v[restrict 8], float out[restrict 8])
        {
            for (int64_t i0 = 0; i0 < 8; i0++) {
                out[i0] = (-x[i0]) - (0.1f * v[i0]);
            }
        }
        <BLANKLINE>
    """
    check_callable("export_c, argument fun", fun)
    function = _name_of(fun, name)
    jaxpr, shapes = make_jaxpr(fun, return_shape=True)(*args_specs, **kwargs_specs)
    arguments = argument_names(fun, tree.structure((args_specs, kwargs_specs)))
    leaves = tree.leaves_with_path(shapes)
    paths = [tree.keystr(path, simple=True, separator="_") for path, _ in leaves]
    names = parameter_names([*arguments, *[f"out_{path}" for path in paths]], function)
    count = len(jaxpr.invars)
    program = loop_program(
        jaxpr, function, names[:count], names[count:], where="export_c", has_vectors=False
    )
    program = with_shared_memory(program)
    return CSource(function, *c_file(program), workspace_bytes(program))


def _name_of(fun: Callable[..., Any], name: str | None) -> str:
    """The name of the C function."""
    chosen = getattr(fun, "__name__", None) if name is None else name
    if isinstance(chosen, str) and is_function_name(chosen):
        return chosen
    given = described(fun) if chosen is None else repr(chosen)
    raise ValueError(
        message(
            "export_c, argument name",
            given=given if name is not None else f"{given}, the name of the function",
            expected="letters, digits and _, that neither C nor its library uses",
            fix="Pass another one: export_c(f, ..., name='step').",
        )
    )
