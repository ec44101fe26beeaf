"""The steps of building a program, reported to those who listen (`morphax.monitoring`).

Each step is a scalar when it begins (the time), and a duration and a time span when it ends, also
if it fails.  The events have JAX's names, which monitors of programs look for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from .. import monitoring

TRACING = "/jax/core/compile/jaxpr_trace_duration"
LOWERING = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILING = "/jax/core/compile/backend_compile_duration"


@contextmanager
def reported(event: str, function_name: str) -> Iterator[None]:
    """Context of one step in building the program of a function."""
    start = time.time()
    monitoring.record_scalar(event, start, fun_name=function_name)
    try:
        yield
    finally:
        end = time.time()
        monitoring.record_event_duration_secs(event, end - start, fun_name=function_name)
        monitoring.record_event_time_span(event, start, end, fun_name=function_name)
