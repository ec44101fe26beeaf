"""Objects whose methods are called where their arguments are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .func import colocated_python


def colocated_python_class(cls: type) -> type:
    """A class whose methods are called where their arguments are.

    The object itself is made when a method is called first; only methods are seen of it.

    Args:
        cls: the class; its methods take and return what functions of `colocated_python` do.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.colocated_python import colocated_python_class
        >>> @colocated_python_class
        ... class Adder:
        ...     def __init__(self, term):
        ...         self.term = term
        ...
        ...     def add(self, x):
        ...         return x + self.term
        >>> Adder(2.0).add(jnp.ones(2))
        Array([3., 3.], dtype=float32)
    """

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made = functools.cache(lambda: cls(*args, **kwargs))
        for name, function in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("__"):
                setattr(self, name, colocated_python(_method(made, function)))

    facts = {"__init__": __init__, "__doc__": cls.__doc__, "__module__": cls.__module__}
    return type(cls.__name__, (), facts)


def _method(made: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        return function(made(), *args, **kwargs)

    return method
