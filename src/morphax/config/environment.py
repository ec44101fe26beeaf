"""The settings found in the environment, which only `util.compiled` reads besides this file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .options import FACTS
from .values import from_text, warn_if_inert

_PREFIXES = ("JAX_", "MORPHAX_")


def settings_from(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The options that environment variables set, by field name.

    ``JAX_ENABLE_X64=1`` and ``MORPHAX_ENABLE_X64=1`` both set ``enable_x64``; where they
    differ the second wins.  Variables that name no option are none of our business.

    Raises:
        ValueError: if the text of a variable denotes no value of its option.
    """
    # One pass over the environment is cheaper than two look-ups per option.
    own = [name for name in environment if name.startswith(_PREFIXES)]
    settings: dict[str, Any] = {}
    for name in sorted(own):
        attribute = name.partition("_")[2].lower()
        if attribute in FACTS:
            value = from_text(attribute, environment[name], f"environment variable {name}")
            warn_if_inert(attribute, value, f"environment variable {name}")
            settings[attribute] = value
            settings.update(dict.fromkeys(FACTS[attribute]["also_sets"], value))
    return settings
