"""What a live worker holds: nothing of the host beside its channel."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from caps.protocol.connection import HostConnection, State
from caps.worker.host.process import WORKER_COMMAND

# What must never be loaded beside untrusted code.
FORBIDDEN = (
    "caps.security",
    "caps.capabilities",
    "caps.providers",
    "caps.cli",
    "caps.worker.host",
    "pydantic",
    "asyncio",
    "anyio",
    "socket",
    "_socket",
    "ssl",
    "ctypes",
    "subprocess",
    "jsonschema_rs",
    "cryptography",
)

PROBE = """
import sys
import caps.worker.inside.__main__
import caps.worker.inside.main as worker
worker.load_facades()
worker.shut_in()
import os
found = ["loaded " + name for name, module in sorted(sys.modules.items()) if module]
for name in ("caps.security.policy", "socket", "subprocess", "ctypes", "http.client"):
    try:
        __import__(name)
    except ImportError:
        found.append("refused " + name)
try:
    os.open("/dev/null", os.O_RDONLY)
except OSError as error:
    found.append("no descriptor " + error.strerror)
os.write(0, "\\n".join(found).encode())
"""


@pytest.fixture(scope="module")
def probed() -> list[str]:
    """What a worker process says of itself once it has shut itself in."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-I", "-c", PROBE]
    with subprocess.Popen(command, stdin=theirs.fileno(), env={}, cwd="/") as child:
        theirs.close()
        data = b""
        while piece := ours.recv(65536):
            data += piece
        assert child.wait() == 0
    ours.close()
    return data.decode().splitlines()


@pytest.mark.parametrize("module", FORBIDDEN)
def test_nothing_of_the_host_is_loaded(probed: list[str], module: str) -> None:
    """No policy, provider, secret or socket-opening code stands beside untrusted code."""
    loaded = [line.removeprefix("loaded ") for line in probed if line.startswith("loaded ")]
    assert "caps.worker.inside.main" in loaded or "caps.worker.inside.guards" in loaded
    assert [name for name in loaded if name == module or name.startswith(module + ".")] == []


def test_nothing_can_be_imported_after_start_up(probed: list[str]) -> None:
    """Even with the language layer off, the import system is gone."""
    refused = [line.removeprefix("refused ") for line in probed if line.startswith("refused ")]
    assert refused == ["caps.security.policy", "socket", "subprocess", "ctypes", "http.client"]


def test_no_descriptor_can_be_opened(probed: list[str]) -> None:
    """Even with the language layer off, there is no number left for another descriptor."""
    assert "no descriptor Too many open files" in probed


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    """A real worker that has said it is ready."""
    ours, theirs = socket.socketpair()
    os.environ["CAPS_TEST_SECRET"] = "secret"
    try:
        child = subprocess.Popen(WORKER_COMMAND, stdin=theirs.fileno(), env={}, cwd="/")
    finally:
        del os.environ["CAPS_TEST_SECRET"]
    theirs.close()
    connection = HostConnection("e1")
    while connection.state is State.BOOTING:
        connection.receive(ours.recv(65536))
    yield child
    child.kill()
    child.wait()
    ours.close()


def test_a_ready_worker_has_one_descriptor_and_no_environment(
    worker: subprocess.Popen[bytes],
) -> None:
    """Its channel is descriptor 0; nothing was inherited."""
    home = Path(f"/proc/{worker.pid}")
    descriptors = sorted(entry.name for entry in (home / "fd").iterdir())
    assert descriptors == ["0"]
    assert str((home / "fd" / "0").readlink()).startswith("socket:")
    assert (home / "environ").read_bytes() == b""
