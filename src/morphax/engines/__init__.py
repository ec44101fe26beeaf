"""The engines: ways to turn a jaxpr into numbers.

`reference` computes with NumPy and defines what primitives mean; `xla` compiles.  They agree, and
the tests compare them, and so does `native`, for programs of small steps on a CPU.  All are
registered with `choice`: NumPy is asked first, for XLA never says no; the compilers are loaded when
they are first asked.
"""

from __future__ import annotations

from ..array.moves import reorder_by as _reorder_by
from . import native as _native
from . import xla as _xla
from .choice import register as _register
from .reference.engine import REFERENCE as _REFERENCE

_reorder_by(lambda *given: _xla.reordered(*given))
_register(lambda: _REFERENCE)
_register(lambda: _native.NATIVE)
_register(lambda: _xla.XLA)
