"""A file served to a page: on this machine only, and until it has been read."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from pathlib import Path
from queue import SimpleQueue

import pytest

from morphax.util.local_page import serve_once


def test_serve_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "trace.json.gz"
    file.write_bytes(b"numbers")
    printed: SimpleQueue[str] = SimpleQueue()
    # Pytest's capture loses what another thread prints while it is read.
    monkeypatch.setattr("builtins.print", lambda text, flush: printed.put(text))
    server = threading.Thread(
        target=serve_once, args=(file, "https://viewer.test/#!/?url=", 0), daemon=True
    )
    server.start()
    link = printed.get(timeout=60)
    address = link.partition("?url=")[2]
    assert address.startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address.replace("trace", "other"))
    with urllib.request.urlopen(address) as answer:
        assert answer.read() == b"numbers"
        assert answer.headers["Access-Control-Allow-Origin"] == "https://viewer.test"
    server.join(timeout=10)
    assert not server.is_alive()
