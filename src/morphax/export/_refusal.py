"""The error for bytes that are no exported program."""

from __future__ import annotations

from ..util.messages import message


def refused(given: str) -> ValueError:
    """The error for bytes that are no exported program."""
    return ValueError(
        message(
            "export.deserialize, argument blob",
            given=given,
            expected="all of the bytes that exported.serialize() has returned, as they were",
            fix="Write and read the file in binary mode, or export the function again.",
        )
    )
