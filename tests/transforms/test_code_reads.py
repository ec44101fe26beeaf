"""What is understood of code, and above all what is not."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from typing import Any

import pytest

from morphax.transforms import code_reads
from morphax.transforms.code_reads import reads_of

module: Any = sys


def imports(x: Any) -> Any:
    import math

    return math.pi * x


def defines_a_class(x: Any) -> Any:
    class Local:
        y = x

    return Local.y


def writes_a_global(x: Any) -> Any:
    global written
    written = x
    return x


async def awaits(x: Any) -> Any:
    return await x


DOUBTFUL: dict[str, tuple[Callable[..., Any], str]] = {
    "import": (imports, "the module math, imported at run time"),
    "class": (defines_a_class, "the instruction LOAD_BUILD_CLASS"),
    "global": (writes_a_global, "the instruction STORE_GLOBAL"),
    "await": (awaits, "the instruction GET_AWAITABLE"),
    "namespace": (lambda f: f.__globals__, "the attribute __globals__"),
    "dict": (lambda f: f.__dict__, "the attribute __dict__"),
    "subclasses": (lambda f: f.__class__.__subclasses__(), "the attribute __subclasses__"),
    "frame": (lambda g: g.gi_frame, "the attribute gi_frame"),
    "traceback": (lambda e: e.tb_next, "the attribute tb_next"),
    "method of a format": (lambda f: "{f.x}".format(f=f), "a format that may name attributes"),  # noqa: UP032
    "nested format": (lambda f: "{:{f.x}}".format(1, f=f), "a format that may name attributes"),
    "format unknown": (lambda s: s.format(s), "a format that may name attributes"),
    "format of a class": (lambda s: str.format(s, s), "a format that may name attributes"),
    "format of a map": (lambda s, m: s.format_map(m), "a format that may name attributes"),
    "is": (lambda x, y: x is y, "whether two values are one object"),
    "is not": (lambda x, y: x is not y, "whether two values are one object"),
    "in a nested function": (lambda x: lambda y: y.__globals__, "the attribute __globals__"),
    "in a comprehension": (lambda xs: [x.gi_code for x in xs], "the attribute gi_code"),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_doubts(name: str) -> None:
    function, doubt = DOUBTFUL[name]
    assert reads_of(function.__code__).doubt == doubt


def everything(xs: Any, *args: Any, key: Any = None, **kwargs: Any) -> Any:
    """Uses what bodies of loops use."""
    first, *rest = xs
    total = -first if key is None or key is True else ~first
    for i, x in enumerate(rest):
        if not x or i > 3 or x in args:
            continue
        total += x[1:2] @ x[i] ** 2
        xs[i], xs[-1] = xs[-1], xs[i]
    while total < 3 and type(total) is not tuple:
        total = total + sum(y for y in rest) + len({k: v for k, v in kwargs.items()})
    try:
        with xs.context as entered:
            assert entered, f"{entered!r:>10} {total:.3f}" + f"{1} {2:.2f}"
    except (ValueError, KeyError) as error:
        raise TypeError(*error.args, **kwargs) from error
    finally:
        del xs[0]
    match first:
        case [1, y, *_]:
            return y
        case {"a": z}:
            return z

    def inner(y: Any = total, *, z: Any = [*rest, *args]) -> Any:  # noqa: B006
        nonlocal total
        total = {**kwargs, "y": y}
        return (yield from z) if z else (lambda w: w if w else total)

    return inner, {*rest}, [x for x in xs if x], xs.attribute


def test_ordinary_code_is_understood() -> None:
    assert reads_of(everything.__code__).doubt is None


def test_chains() -> None:
    def function(x: Any, condition: Any) -> Any:
        y = module.path.join(x) + module.version
        return (module if condition else x).platform + (lambda m: m.y)(module) + y

    [(name, chains)] = reads_of(function.__code__).globals
    assert name == "module"
    assert set(chains) == {("path", "join"), ("version",), ()}


def test_variables_of_enclosing_functions() -> None:
    held: Any = module

    def function() -> Any:
        return lambda: (held.a.b, held.c is held)

    reads = reads_of(function.__code__)
    assert set(reads.cells["held"]) == {("a", "b"), ("c",), ()}
    assert reads.compared == ("held",)


def test_what_is_listed_are_instructions() -> None:
    """Of this version of Python or of another that is supported."""
    known = set(dis.opmap)
    listed = code_reads._HARMLESS
    assert len(listed & known) > 60
    assert not listed & {"IMPORT_NAME", "STORE_GLOBAL", "LOAD_BUILD_CLASS", "LOAD_LOCALS"}
