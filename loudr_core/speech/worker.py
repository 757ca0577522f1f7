"""The engine process: orders in, takes out. Started as `python -m loudr_core.speech.worker`.

Messages come on the standard input and go to the standard output; before any engine is imported
both are moved to private descriptors, so that a print of some library lands in the log and not
between two messages. End of file on the input means that the parent is gone, and the process ends
at once: every object in the store is whole, so there is nothing to tidy up.
"""

import contextlib
import faulthandler
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from typing import BinaryIO

from loudr_core.memory import keep_memory

__all__ = ["main"]

# Threads of numerical libraries would fight over the one core that this process is meant to fill,
# and nothing may be fetched by name while a book is rendered.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}

_log = logging.getLogger(__name__)


def main() -> None:
    """Serve orders until the input ends; the exit code is that of a start-up error."""
    os.environ.update(_ENVIRONMENT)  # before numpy is imported; ours to write, and never read
    keep_memory()
    source, sink = _take_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    faulthandler.enable()
    threading.excepthook = _thread_failed
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s",
    )
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(source, lines), name="orders", daemon=True).start()
    code = _serve(lines, sink)
    sys.stderr.flush()
    # Engine threads may still run; nothing they hold is worth waiting for.
    os._exit(code)


def _serve(lines: "queue.SimpleQueue[bytes]", sink: BinaryIO) -> int:
    from loudr_core.errors import DeviceError, LoudrError
    from loudr_core.speech.memory import OUT_OF_MEMORY, OutOfMemory
    from loudr_core.speech.serving import Server
    from loudr_core.speech.wire import decode, encode, error_to_json

    try:
        try:
            server = Server(decode(lines.get()), sink)
        except LoudrError:
            raise
        except Exception as error:
            _log.exception("the engine could not be loaded")
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise DeviceError(f"the engine could not be loaded ({reason})") from error
    except LoudrError as error:
        _log.error("refused to start: %s", error.message)
        sink.write(encode({"type": "refused", "error": error_to_json(error)}))
        sink.flush()
        return error.exit_code
    try:
        server.run(decode(line) for line in _forever(lines))
    except OutOfMemory:
        _log.exception("out of memory")
        return OUT_OF_MEMORY
    return 0


def _forever(lines: "queue.SimpleQueue[bytes]") -> Iterator[bytes]:
    while True:
        yield lines.get()


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Move input and output out of reach of prints; they read nothing and write to the log."""
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return source, sink


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    """End the process: with one of its threads gone it would only look alive."""
    _log.error("thread failed", exc_info=failure.exc_value)
    sys.stderr.flush()
    os._exit(1)


def _read(source: BinaryIO, lines: "queue.SimpleQueue[bytes]") -> None:
    with contextlib.suppress(OSError):
        for line in source:
            lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
