from __future__ import annotations

import inspect
import pickle

import pytest

from morphax import errors

CLASSES = {
    name: c
    for name, c in vars(errors).items()
    if isinstance(c, type) and issubclass(c, Exception) and not name.startswith("_")
}
OF_TRACERS = [
    errors.ConcretizationTypeError,
    errors.TracerBoolConversionError,
    errors.TracerIntegerConversionError,
    errors.TracerArrayConversionError,
    errors.NonConcreteBooleanIndexError,
]


class Tracer:
    def __repr__(self) -> str:
        return "Tracer<float32[3]>"


@pytest.mark.parametrize(
    ("name", "bases"),
    [
        ("ConcretizationTypeError", (errors.JAXTypeError, TypeError)),
        ("TracerBoolConversionError", (errors.ConcretizationTypeError, TypeError)),
        ("TracerIntegerConversionError", (errors.JAXTypeError, TypeError)),
        ("TracerArrayConversionError", (errors.JAXTypeError, TypeError)),
        ("NonConcreteBooleanIndexError", (errors.JAXIndexError, IndexError)),
        ("UnexpectedTracerError", (errors.JAXTypeError, TypeError)),
        ("KeyReuseError", (errors.JAXTypeError, TypeError)),
        ("JaxprTypeError", (TypeError,)),
        ("LeakCheckError", (RuntimeError,)),
        ("JaxRuntimeError", (RuntimeError,)),
        ("InconclusiveDimensionOperation", (Exception,)),
    ],
)
def test_programs_catch_them_as_they_catch_pythons(name: str, bases: tuple[type, ...]) -> None:
    assert all(issubclass(CLASSES[name], base) for base in bases)


@pytest.mark.parametrize("name", CLASSES)
def test_finished_text_is_kept_and_survives_pickling(name: str) -> None:
    error = CLASSES[name]("what happened")
    assert str(error) == "what happened"
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), "what happened")


@pytest.mark.parametrize("kind", OF_TRACERS, ids=lambda kind: kind.__name__)
def test_text_is_made_from_a_tracer(kind: type[Exception]) -> None:
    text = str(kind(Tracer()))
    assert "given:    the traced value Tracer<float32[3]>" in text
    assert "expected: " in text
    assert "fix:      " in text
    assert str(kind(Tracer(), "my_function")).startswith("my_function (at ")


@pytest.mark.parametrize("name", CLASSES)
def test_docstring_says_when_it_is_raised(name: str) -> None:
    doc = inspect.getdoc(CLASSES[name])
    assert doc
    assert doc.splitlines()[0].endswith(".")


def test_runtime_errors_know_their_status() -> None:
    error = errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")
    assert (error.error_code, error.error_code_string) == (8, "RESOURCE_EXHAUSTED")
    assert error.error_message == str(error) == "RESOURCE_EXHAUSTED: out of memory"
    assert errors.JaxRuntimeError("something", 13).error_code_string == "INTERNAL"
    assert errors.JaxRuntimeError("something").error_code_string == "UNKNOWN"
    assert errors.JaxRuntimeError("something", 99).error_code_string == "99"
    assert errors.JaxRuntimeError().error_message == ""
