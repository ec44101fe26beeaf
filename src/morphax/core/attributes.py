"""Notes to the compiler that the equations of a scope carry; the text of a module shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..config import make_user_context
from .source_info import Attributes
from .trace import current_name_stack, set_name_stack

# Programs are traced anew where other attributes are in force.
_in_force = make_user_context(())


@contextmanager
def with_attributes(pairs: Mapping[str, str]) -> Iterator[None]:
    """Context, and decorator, in which equations carry attributes for the compiler.

    Those of outer contexts stay, where the inner ones do not replace them.
    """
    attributes = Attributes(pairs.items())
    with _in_force(_in_force.value + attributes.pairs):
        with set_name_stack((*current_name_stack(), attributes)):
            yield
