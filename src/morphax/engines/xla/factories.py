"""Clients that users make themselves, by the name of their platform.

Reference: `morphax.extend.backend.register_backend_factory`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from ...util.messages import message

_logger = logging.getLogger(__name__)


@final
@dataclass(frozen=True, slots=True)
class Factory:
    """How the client of a platform is made.

    Args:
        name: of the platform.
        make: takes nothing, returns the client.
        priority: among platforms that nobody asks for by name; the CPU has 0.
        fails_quietly: whether the platform is passed over if its client cannot be made.
        is_experimental: whether a warning is logged when it is used.
    """

    name: str
    make: Callable[[], Any]
    priority: int
    fails_quietly: bool
    is_experimental: bool

    def client(self) -> Any:
        """A new client.

        Raises:
            RuntimeError: if it cannot be made.
        """
        if self.is_experimental:
            _logger.warning("The platform %r is experimental: it may compute wrongly.", self.name)
        try:
            made = self.make()
        except Exception as error:
            raise self._failed(f"a factory that raised {error!r}") from error
        if made is None:
            raise self._failed("a factory that returned None")
        return made

    def _failed(self, what: str) -> RuntimeError:
        return RuntimeError(
            message(
                f"making a client of the platform {self.name}",
                given=what,
                expected="a client of jaxlib",
                fix="Set jax_platforms to the platforms that can be used, such as 'cpu'.",
            )
        )


factories: dict[str, Factory] = {}
"""Those registered so far."""
