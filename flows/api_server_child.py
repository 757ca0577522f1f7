"""The Prefect API server as a child that never outlives its parent.

Run as `python -m flows.api_server_child PORT`. Standard input is a pipe whose other end the parent
holds; when it closes, however the parent ended, the server leaves at once.
"""

import os
import sys
import threading

import uvicorn

__all__ = ["main"]


def _leave_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main(port: int) -> None:
    """Serve the Prefect API on the loopback address until told to stop."""
    threading.Thread(target=_leave_with_parent, name="parent-watch", daemon=True).start()
    uvicorn.run(
        "prefect.server.api.server:create_app",
        factory=True,
        host="127.0.0.1",
        port=port,
        log_level="error",
        lifespan="on",
        timeout_graceful_shutdown=5,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
