"""The floor of the server's benchmark: Starlette and uvicorn without the server.

    python benchmarks/server_floor.py FILE

It answers every request with the bytes of a file, after it has read the body. Framework
and protocol are set up as in the server.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def serve(file: Path) -> None:
    """Serve on a free port, and print the URL first."""
    answer = file.read_bytes()

    async def endpoint(request: Request) -> Response:
        await request.body()
        return Response(answer, media_type="application/json")

    methods = ["GET", "POST", "PATCH"]
    app = Starlette(routes=[Route("/{path:path}", endpoint, methods=methods)])
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
    )
    # asyncio sends small packets at once only where the socket names its protocol.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(1024)
        _, port = bound.getsockname()
        print(f"at http://127.0.0.1:{port}", flush=True)
        uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
