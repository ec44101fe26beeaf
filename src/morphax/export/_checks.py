"""`DisabledSafetyCheck`: which checks of exported programs their user does without."""

from __future__ import annotations

from typing import Final, final

from ..util.records import dataclass

_CUSTOM_CALL: Final = "custom_call:"


@final
@dataclass(frozen=True, slots=True)
class DisabledSafetyCheck:
    """A check of exported programs that is left out.

    Example:
        >>> from morphax.export import DisabledSafetyCheck
        >>> DisabledSafetyCheck.platform(), DisabledSafetyCheck.custom_call("my_kernel")
        (platform, custom_call:my_kernel)
    """

    _impl: str

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """A program may be called on other platforms than those it was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """A program may have custom calls of a target, for whose stability its user answers."""
        return cls(_CUSTOM_CALL + target_name)

    def is_custom_call(self) -> str | None:
        """The target that is allowed, if this is about one."""
        if not self._impl.startswith(_CUSTOM_CALL):
            return None
        return self._impl.removeprefix(_CUSTOM_CALL)

    def __repr__(self) -> str:
        return self._impl
