"""Native code of ours that compiled programs on the CPU call, and by which names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..util.compiled import part

BITS_TARGET: Final = "morphax_random_bits"
DRAWS_TARGET: Final = "morphax_draw"
EXTREME_PLACES_TARGET: Final = "morphax_extreme_place"
EXTREMES_TARGET: Final = "morphax_extreme"
INCOMPLETE_GAMMA_TARGET: Final = "morphax_incomplete_gamma"
NAN_SPREAD_TARGET: Final = "morphax_nan_spread"
PHILOX_TARGET: Final = "morphax_philox"
ROW_ORDERS_TARGET: Final = "morphax_row_orders"
RUNNING_TARGET: Final = "morphax_running"
WINDOW_RANKS_TARGET: Final = "morphax_window_ranks"

TARGETS: Final = {
    BITS_TARGET: "random_bits",
    DRAWS_TARGET: "random",
    EXTREME_PLACES_TARGET: "extreme_places",
    EXTREMES_TARGET: "extremes",
    INCOMPLETE_GAMMA_TARGET: "incomplete_gamma",
    NAN_SPREAD_TARGET: "nan_spread",
    PHILOX_TARGET: "philox",
    ROW_ORDERS_TARGET: "row_orders",
    RUNNING_TARGET: "running",
    WINDOW_RANKS_TARGET: "window_ranks",
}
"""The names in programs, and the parts of the compiled module that have the code."""

DRAW_METHODS: Final = ("gamma", "loggamma", "poisson", "binomial")
"""What is drawn by rejection, in the order of its numbers in native code."""

DRAW_GENERATORS: Final = ("threefry2x32", "rbg", "unsafe_rbg")
"""By keys of which generators, in the order of their numbers in native code."""


def handlers() -> Iterator[tuple[str, Any]]:
    """The names, each with XLA's way to the code, as far as it is there."""
    for target, name in TARGETS.items():
        native = part(name)
        if native is not None:
            yield target, native.handler()
