"""No process of a render looks an outside name up, or connects to another machine."""

import ipaddress
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

# Loaded by every Python of the command before anything else; an audit hook cannot be taken off.
LISTENER = """
    import json, os, sys
    EVENTS = {
        "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo",
        "socket.connect", "socket.sendto", "socket.sendmsg",
    }
    def note(event, arguments):
        log = os.open(os.environ["AUDIT"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        said = [str(a) if not isinstance(a, (str, int, tuple)) else a for a in arguments]
        line = json.dumps([os.getpid(), event, said, sys.orig_argv], default=str) + "\\n"
        os.write(log, line.encode())
        os.close(log)
    def hook(event, arguments):
        if event in EVENTS:
            note(event, arguments)
    sys.addaudithook(hook)
    note("started", ())
"""


class Audit:
    """What the processes of a command asked of the network."""

    def __init__(self, folder: Path) -> None:
        modules = folder / "modules"
        modules.mkdir()
        (modules / "sitecustomize.py").write_text(textwrap.dedent(LISTENER), encoding="utf-8")
        self.path = folder / "audit.jsonl"
        self.variables = {"PYTHONPATH": str(modules), "AUDIT": str(self.path)}

    def rows(self) -> list[tuple[int, str, list[Any], list[str]]]:
        return [tuple(json.loads(line)) for line in self.path.read_text().splitlines()]

    def processes(self) -> set[str]:
        """Return the kinds of processes that were listened to."""
        kinds = {
            "flows.api_server_child": "server",
            "loudr_core.speech.worker": "engine",
        }
        started = [argv for _, event, _, argv in self.rows() if event == "started"]
        return {next((kinds[a] for a in argv if a in kinds), "command") for argv in started}

    def outside(self) -> list[tuple[str, Any, list[str]]]:
        """Return what was asked that is not about this machine."""
        return [
            (event, arguments, argv)
            for _, event, arguments, argv in self.rows()
            if event != "started" and not at_home(event, arguments)
        ]


def at_home(event: str, arguments: list[Any]) -> bool:
    """Say whether a look-up or a connection stays on this machine."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getnameinfo"):
        address = arguments[0] if event == "socket.getnameinfo" else arguments[1]
        if isinstance(address, str):  # a socket of this machine's file system
            return True
        if address is None or address == "None":  # of a socket that is connected already
            return True
        host = address[0]
    else:
        host = arguments[0]
    if host is None or host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.mark.parametrize(
    ("event", "arguments", "home"),
    [
        ("socket.getaddrinfo", ["localhost", 80], True),
        ("socket.getaddrinfo", ["127.0.0.1", 80], True),
        ("socket.getaddrinfo", ["example.org", 443], False),
        ("socket.gethostbyname", ["example.org"], False),
        ("socket.connect", ["<socket>", ["127.0.0.1", 80]], True),
        ("socket.connect", ["<socket>", ["::1", 80, 0, 0]], True),
        ("socket.connect", ["<socket>", ["192.0.2.7", 443]], False),
        ("socket.connect", ["<socket>", "/run/some.sock"], True),
        ("socket.sendto", ["<socket>", ["192.0.2.7", 53]], False),
    ],
)
def test_what_is_outside(event: str, arguments: list[Any], home: bool) -> None:
    assert at_home(event, arguments) is home


def test_a_render_asks_for_no_outside_name(
    loudr: Any, tone_book: Callable[..., Path], tmp_path: Path
) -> None:
    """Command, API server and engine processes, with the embedded voice, to the finished file."""
    audit = Audit(tmp_path)
    book = tone_book(chapters=1, paragraphs=2)
    said = loudr.with_(LOUDR_ENGINE="embedded", **audit.variables)(
        "render", book, "-o", tmp_path / "out", "--store", tmp_path / "store", "--json"
    ).json
    assert said["segments"]["failed"] == 0
    assert audit.processes() == {"command", "server", "engine"}
    assert any(event == "socket.connect" for _, event, _, _ in audit.rows()), "it listened"
    assert audit.outside() == []


@pytest.mark.parametrize("command", ["doctor", "status"])
def test_a_command_asks_for_no_outside_name(loudr: Any, tmp_path: Path, command: str) -> None:
    audit = Audit(tmp_path)
    loudr.with_(**audit.variables)(command)
    assert audit.processes() == {"command"}
    assert audit.outside() == []
