"""What a layer is, and layers without parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Shape = tuple[int, ...]
Initializer = Callable[..., Any]
Layer = tuple[Callable[..., Any], Callable[..., Any]]


def stateless(apply: Callable[..., Any], output_shape: Callable[[Any], Any] = tuple) -> Layer:
    """A layer without parameters; ``apply(inputs, **kwargs)``."""

    def init_fun(rng: Any, input_shape: Any) -> Any:
        return output_shape(input_shape), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return apply(inputs, **kwargs)

    return init_fun, apply_fun
