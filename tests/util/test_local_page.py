"""A file served to a page: on this machine only, and until it has been read."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from morphax.util.local_page import serve_once


def test_serve_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.json.gz"
    file.write_bytes(b"numbers")
    server = threading.Thread(target=serve_once, args=(file, "https://viewer.test/#!/?url=", 0))
    server.start()
    link = ""
    while not link:
        link = capsys.readouterr().out
    address = link.strip().partition("?url=")[2]
    assert address.startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address.replace("trace", "other"))
    with urllib.request.urlopen(address) as answer:
        assert answer.read() == b"numbers"
        assert answer.headers["Access-Control-Allow-Origin"] == "https://viewer.test"
    server.join(timeout=10)
    assert not server.is_alive()
