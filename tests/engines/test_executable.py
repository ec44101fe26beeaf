"""Compiled programs: how they are run, and what XLA's failures become."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from morphax import lax
from morphax.array import Array
from morphax.core import ShapedArray, stage
from morphax.engines.xla.executable import Executable
from morphax.engines.xla.lowering import LoweredProgram, lower
from morphax.errors import JaxRuntimeError
from morphax.runtime.devices import default_device
from morphax.runtime.failures import raise_failure


def program(*shapes: tuple[int, ...]) -> LoweredProgram:
    avals = [ShapedArray(shape, np.float32) for shape in shapes]
    jaxpr, _ = stage(lambda *xs: [lax.neg(x) for x in xs], avals)
    return lower(jaxpr, "negate")


def array(value: Any, dtype: Any = np.float32) -> Array:
    return Array.from_host(np.asarray(value, dtype))


@pytest.fixture
def negate() -> Executable:
    return Executable.compile(program((2,)))


def test_run(negate: Executable) -> None:
    (y,) = negate.run([array([1, 2])], False)
    assert y.tolist() == [-1, -2]
    assert (y.device, y.committed) == (default_device(), False)
    (z,) = negate.run([y], True)
    assert z.committed


def test_weak_types_may_differ(negate: Executable) -> None:
    x = array([1, 2])
    weak = Array(ShapedArray((2,), np.float32, True), x.to_host())
    assert negate.run([weak], False)[0].tolist() == [-1, -2]


def test_failure_to_compile() -> None:
    broken = dataclasses.replace(program((2,)), text="module { nonsense }")
    with pytest.raises(
        JaxRuntimeError, match=r"(?s)^\w+: compiling the program negate .at .*test_exec.*fix:"
    ):
        Executable.compile(broken)


def test_failure_to_run(capfd: pytest.CaptureFixture[str]) -> None:
    without_operand = dataclasses.replace(program((2,)), kept_operands=())
    executable = Executable.compile(without_operand)
    with pytest.raises(JaxRuntimeError, match="running the program negate") as caught:
        executable.run([array([1, 2])], False)
    assert caught.value.error_code_string == "INVALID_ARGUMENT"
    assert "test_executable.py" in str(caught.value)


def test_failure_while_waiting(negate: Executable) -> None:
    (y,) = negate.run([array([1, 2])], False)
    y._buffer.delete()
    for use in (Array.block_until_ready, np.asarray):
        with pytest.raises(JaxRuntimeError, match=r"(?s)INVALID_ARGUMENT.*fix:"):
            use(y)


@pytest.mark.parametrize(
    ("report", "status", "advice"),
    [
        ("RESOURCE_EXHAUSTED: Out of memory", "RESOURCE_EXHAUSTED", "smaller arrays"),
        ("INTERNAL: oops", "INTERNAL", "please report"),
        ("something else", "UNKNOWN", "please report"),
    ],
)
def test_advice(report: str, status: str, advice: str) -> None:
    reported = RuntimeError(report)
    with pytest.raises(JaxRuntimeError) as caught:
        raise_failure(reported, "running f")
    assert caught.value.error_code_string == status
    assert str(caught.value).startswith(f"{status}: running f (at ")
    assert advice in str(caught.value)
    assert caught.value.__cause__ is reported


def test_operands_that_are_not_needed_are_not_passed() -> None:
    jaxpr, _ = stage(lambda x, y: [lax.neg(y)], [ShapedArray((2,), np.float32)] * 2)
    executable = Executable.compile(lower(jaxpr, "second"))
    unused = array([1, 2])
    unused.delete()
    assert executable.run([unused, array([3, 4])], False)[0].tolist() == [-3, -4]


def test_forwarded_results_are_arrays_of_their_own() -> None:
    jaxpr, _ = stage(lambda x: [x, lax.neg(x)], [ShapedArray((2,), np.float32)])
    executable = Executable.compile(lower(jaxpr, "both"))
    x = array([1, 2])
    same, _ = executable.run([x], False)
    x.delete()
    assert same.tolist() == [1, 2]
