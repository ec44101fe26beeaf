"""The version of JAX whose API this is."""

from __future__ import annotations

from morphax import __version__ as __version__
from morphax import __version_info__ as __version_info__

_version = __version__  # torchax reads it
