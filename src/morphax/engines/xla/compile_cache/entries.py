"""An entry of the cache as bytes: a mark of the format, a keyed digest, the compressed payload.

To deserialise an executable is to run native code.  So the payload of an entry is looked at only
if its digest is right: HMAC-SHA-256 with the secret of the directory, over the entry's key and the
compressed payload.  Nobody who cannot read the secret can make such an entry, rename one to serve
as another program, or alter one; and what a full disk or a crash leaves behind fails as well.

Libraries are imported where they are used: programs that compile nothing should not wait for them.
"""

from __future__ import annotations

from typing import Final

_MARK: Final = b"morphax executable 1\n"
_DIGEST_BYTES: Final = 32
_HEADER_BYTES: Final = len(_MARK) + _DIGEST_BYTES

# Level 1 takes a hundredth of the time to compile, and entries become 2 to 6 times smaller.
_LEVEL: Final = 1


class BrokenEntry(Exception):
    """The bytes are no entry made with this secret and key."""


def sealed(payload: bytes, key: str, secret: bytes) -> bytes:
    """The entry that keeps a payload under a key."""
    import zlib

    body = zlib.compress(payload, _LEVEL)
    return _MARK + _digest(body, key, secret) + body


def opened(entry: bytes, key: str, secret: bytes) -> bytes:
    """The payload of an entry.

    Raises:
        BrokenEntry: it was not made by `sealed` with this key and secret, or is damaged.
    """
    if not entry.startswith(_MARK):
        raise BrokenEntry("it is no entry of this format")
    digest, body = entry[len(_MARK) : _HEADER_BYTES], entry[_HEADER_BYTES:]
    if digest != _digest(body, key, secret):
        raise BrokenEntry("its digest is wrong: it is damaged, or was made by somebody else")
    import zlib

    return zlib.decompress(body)


def _digest(body: bytes, key: str, secret: bytes) -> bytes:
    import hmac

    return hmac.digest(secret, key.encode() + b"\n" + body, "sha256")
