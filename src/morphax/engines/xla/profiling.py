"""jaxlib's profiler: sessions that record what host and devices do, and marks in the record."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from ...runtime.client import jaxlib_module, xla_client

_iterator_types: set[type] = set()
_SMALL_PROFILE = "planes { lines { events { metadata_id: 1 } } }"


@cache
def profiler() -> Any:
    """The module of sessions and marks."""
    xla_client()
    return jaxlib_module("_profiler")


@cache
def profile_data() -> Any:
    """The module that reads what was recorded."""
    xla_client()
    _profile_data = jaxlib_module("_profile_data")
    # jaxlib makes the types of iterators when they are first asked for.  Python 3.12 warns of them,
    # and if the warning is an error, jaxlib ends the process: make them here, and keep them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        profile = _profile_data.ProfileData.from_text_proto(_SMALL_PROFILE)
        plane = next(profile.planes)
        line = next(plane.lines)
        iterators = (profile.planes, plane.lines, plane.stats, line.events, next(line.events).stats)
        _iterator_types.update(map(type, iterators))
    return _profile_data
