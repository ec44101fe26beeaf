"""Processes that write one checkpoint together: what process 0 tells them, and barriers.

They meet at the coordination service and not by a program of the devices, for they do so on threads
of their own, while the program goes on.  A process that does not come makes the others fail.
"""

from __future__ import annotations

import itertools
import json
from typing import Any, Final, final

from ...runtime.membership import membership
from ...util.messages import message

# All processes run the same program, so they count alike.
_numbers: Final = itertools.count()


class BarrierTimeoutError(Exception):
    """A process did not come in time to where all wait for each other."""


@final
class Meeting:
    """One occasion on which the processes work together; nobody waits if there is one process.

    Args:
        seconds: how long to wait for the others.
    """

    def __init__(self, seconds: int) -> None:
        own = membership()
        self._client = None if own is None else own.client
        self._name = f"array_serialization/{next(_numbers)}"
        self._milliseconds = seconds * 1000
        self.process = 0 if own is None else own.process
        self.processes = 1 if own is None else own.processes

    def told(self, news: Any) -> Any:
        """What process 0 says, plain data, on all processes."""
        if self._client is None or self.processes == 1:
            return news
        key = f"{self._name}/news"
        if self.process == 0:
            self._client.key_value_set(key, json.dumps(news))
            return news
        try:
            return json.loads(self._client.blocking_key_value_get(key, self._milliseconds))
        except RuntimeError as error:
            raise self._missed("process 0", error) from error

    def wait_for_all(self, stage: str) -> None:
        """Return when all processes have come to this stage.

        Raises:
            BarrierTimeoutError: if one does not.
        """
        if self._client is None or self.processes == 1:
            return
        try:
            self._client.wait_at_barrier(f"{self._name}/{stage}", self._milliseconds)
        except RuntimeError as error:
            raise self._missed("all processes", error) from error

    def _missed(self, whom: str, error: Exception) -> BarrierTimeoutError:
        return BarrierTimeoutError(
            message(
                "writing of arrays by several processes",
                given=f"process {self.process}, which waited {self._milliseconds // 1000} s: "
                f"{error!s:.300}",
                expected=f"{whom} to come to the same point",
                fix="Look for an error in the output of the other processes; call the same "
                "functions in all of them.",
            )
        )
