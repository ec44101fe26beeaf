"""Show one file to a web page, by a server on the loopback interface that serves it once."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit


def serve_once(path: Path, viewer: str, port: int) -> None:
    """Print a link to a page that shows a file, and serve the file until the page has read it.

    Only programs on this machine can connect, and of the files only this one is served, to pages
    of the viewer's own origin.

    Args:
        path: the file.
        viewer: address of the page, up to where that of the file is appended.
        port: where to listen.
    """
    # Loads much that most programs never need.
    from http.server import BaseHTTPRequestHandler, HTTPServer

    content = path.read_bytes()
    parts = urlsplit(viewer)
    origin = f"{parts.scheme}://{parts.netloc}"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == f"/{path.name}"
            self.send_response(200 if found else 404)
            self.send_header("Access-Control-Allow-Origin", origin)
            self.send_header("Content-Length", str(len(content) if found else 0))
            self.end_headers()
            if found:
                self.wfile.write(content)
                server.was_read = True

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(HTTPServer):
        allow_reuse_address = True
        was_read = False

    with Server(("127.0.0.1", port), Handler) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/{path.name}"
        print(f"Open this link in a browser to see the profile: {viewer}{address}", flush=True)
        while not server.was_read:
            server.handle_request()
