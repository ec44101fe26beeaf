"""Every primitive states all its rules, or why it has none; each of lax is covered by a record.

A primitive of lax without a record in `tests/cases` must stand in `EXEMPT`, with the reason and the
place where it is tested instead.  Those of higher layers carry programs, run functions of the user
or communicate over mapped axes: no record says that, and they have tests of their own.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import morphax
from morphax import enable_x64
from morphax.core import Jaxpr, NoRule, Primitive, jaxprs_in_params
from morphax.transforms.make_jaxpr import make_jaxpr
from tests import cases
from tests.cases.op_case import OpCase

EXEMPT = {
    "dce_sink": "has no results: tests/lax/test_dce_sink.py",
    **dict.fromkeys(("after_all", "create_token"), "has no numbers: tests/lax/test_tokens.py"),
    "dim_as_value": "is of symbolic sizes: tests/lax/test_symbolic_sizes.py",
    "device_put": "moves and computes nothing: tests/lax/test_placing.py",
    "reshard": "arises in derivatives on meshes only: tests/lax/test_axis_flow.py",
    "rng_uniform": "draws other numbers at each call: tests/lax/test_random_uniform.py",
    "sharding_constraint": "computes nothing: tests/lax/test_sharding_constraint.py",
    "layout_constraint": "computes nothing: tests/lax/test_layout_constraint.py",
    "shard_alike": "computes nothing: tests/parallel/test_shard_alike.py",
    "select_and_gather_add": "arises in derivatives of reduce_window only, with its records",
    "select_and_scatter_add": "arises in derivatives of reduce_window only, with its records",
    "select_and_scatter": "no function binds it: tests/lax/test_select_and_scatter.py",
    "xla_metadata_value": "computes nothing: tests/experimental/test_xla_metadata.py",
    "stage": "is no equation: tests/lax/test_likeness.py",
    **dict.fromkeys(
        ("addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "swap"),
        "acts on references: tests/lax/test_references.py",
    ),
}
RULES = {
    "abstract_eval": ("abstract_eval",),
    "eager evaluation": ("evaluate", "execute", "process_eval"),
    "lower": ("lower",),
    "derivative": ("jvp", "linear", "linearize", "process_jvp", "process_linearize"),
    "transpose": ("transpose",),
    "batching": ("batch", "process_batch"),
}


def import_everything() -> None:
    for module in pkgutil.walk_packages(morphax.__path__, "morphax."):
        importlib.import_module(module.name)


def subclasses(base: type) -> Iterator[type]:
    for cls in base.__subclasses__():
        yield cls
        yield from subclasses(cls)


def primitives() -> dict[str, Primitive]:
    """All instances that modules of the package define, by module and name."""
    import_everything()
    found = {}
    for cls in subclasses(Primitive):
        if cls.__module__.startswith("morphax."):
            values = vars(sys.modules[cls.__module__]).values()
            instances = [value for value in values if type(value) is cls]
            found.update({f"{cls.__module__}.{p.name}": p for p in instances})
    return found


PRIMITIVES = primitives()


def is_stated(primitive: Primitive, rule: str) -> bool:
    """Whether a rule is written, or its absence has a reason."""
    value = vars(primitive).get(rule, inspect.getattr_static(type(primitive), rule))
    return value.reason is not None if isinstance(value, NoRule) else bool(value)


def test_the_walk_finds_primitives() -> None:
    assert "morphax.lax.elementwise.trigonometric.sin" in PRIMITIVES
    assert "morphax.control.jit.jit_primitive.jit" in PRIMITIVES


@pytest.mark.parametrize("label", PRIMITIVES)
def test_every_rule_is_stated(label: str) -> None:
    primitive = PRIMITIVES[label]
    missing = [
        kind
        for kind, rules in RULES.items()
        if not any(is_stated(primitive, rule) for rule in rules)
    ]
    assert not missing, f"{label} neither has nor declines: {', '.join(missing)}"


def applied(jaxpr: Jaxpr) -> Iterator[str]:
    """Names of the primitives of a program and of those inside it."""
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in jaxprs_in_params(eqn.params):
            yield from applied(inner)


def all_cases() -> list[OpCase]:
    modules = [
        importlib.import_module(f"tests.cases.{m.name}")
        for m in pkgutil.iter_modules(cases.__path__)
    ]
    return [case for module in modules for case in getattr(module, "CASES", ())]


@pytest.fixture(scope="module")
def covered() -> set[str]:
    names: set[str] = set()
    with enable_x64(True):
        for case in all_cases():
            names.update(applied(make_jaxpr(case.function)(*case.draw(case.dtypes[0]))))
    return names


@pytest.mark.parametrize("label", [p for p in PRIMITIVES if p.startswith("morphax.lax.")])
def test_every_primitive_has_a_record(label: str, covered: set[str]) -> None:
    name = PRIMITIVES[label].name
    assert name in covered or name in EXEMPT, f"no case of tests/cases applies {label}"


def test_exemptions_are_needed(covered: set[str]) -> None:
    known: dict[str, Any] = {p.name: p for p in PRIMITIVES.values()}
    unneeded = [name for name in EXEMPT if name not in known or name in covered]
    assert not unneeded
