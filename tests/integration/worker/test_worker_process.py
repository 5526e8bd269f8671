"""What a live worker holds: nothing of the host except its channel."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from caps import MemoryAuditLog, Runtime
from caps.protocol.connection import HostConnection
from caps.worker.host.pool.spare import wait_until_ready
from caps.worker.host.zygote.source import ForkedWorker, ZygoteSource

pytestmark = pytest.mark.anyio

# What must never be loaded next to untrusted code.
FORBIDDEN = (
    "_ctypes",
    "_socket",
    "anyio",
    "asyncio",
    "caps.capabilities",
    "caps.cli",
    "caps.protocol.environment",
    "caps.providers",
    "caps.security",
    "caps.worker.host",
    "caps.worker.inside.confinement.linux",
    "cryptography",
    "ctypes",
    "jsonschema_rs",
    "pydantic",
    "pyseccomp",
    "shutil",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
)


@pytest.mark.parametrize("module", FORBIDDEN)
def test_a_forbidden_module_exists_on_the_host(module: str) -> None:
    """A renamed one would be absent from every worker, and the tests below would prove nothing."""
    assert importlib.util.find_spec(module) is not None


@asynccontextmanager
async def spare() -> AsyncIterator[tuple[ForkedWorker, Path]]:
    """A real worker that has locked itself in, and its place in /proc."""
    source = ZygoteSource()
    async with source.open():
        worker = await source.start()
        await wait_until_ready(worker.transport, HostConnection())
        info = Path(f"/proc/self/fdinfo/{worker._pidfd}").read_text()
        pid = next(line.split()[1] for line in info.splitlines() if line.startswith("Pid:"))
        yield worker, Path("/proc") / pid
        worker.kill()
        await worker.ended()
        worker.transport.close()


async def test_a_spare_has_one_descriptor_and_no_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its channel is descriptor 0; nothing was inherited."""
    monkeypatch.setenv("CAPS_TEST_SECRET", "secret")
    async with spare() as (_, home):
        assert [entry.name for entry in (home / "fd").iterdir()] == ["0"]
        assert str((home / "fd" / "0").readlink()).startswith("socket:")
        assert b"CAPS_TEST_SECRET" not in (home / "environ").read_bytes()
        assert list((home / "root").iterdir()) == []


async def test_the_kernel_says_that_a_spare_is_locked_down() -> None:
    """Not what we assume, but what /proc reports about the process."""
    async with spare() as (_, home):
        lines = (line.partition(":") for line in (home / "status").read_text().splitlines())
        status = {name: value.split() for name, _, value in lines}
        assert status["NoNewPrivs"] == ["1"]
        assert status["Seccomp"] == ["2"]
        assert status["Groups"] == []
        assert {status[name][0] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {
            "0" * 16
        }
        assert "0" not in status["Uid"]
        for namespace in ("user", "pid", "mnt", "net", "ipc", "uts"):
            theirs = (home / "ns" / namespace).readlink()
            assert theirs != Path(f"/proc/self/ns/{namespace}").readlink()
        limits = (home / "limits").read_text()
        for line in ("Max open files", "Max processes", "Max file size", "Max core file size"):
            (row,) = [row for row in limits.splitlines() if row.startswith(line)]
            assert row.removeprefix(line).split()[1] in ("0", "1")


PROBE = """
import sys
found = sorted(name for name, module in sys.modules.items() if module)
blocked = []
for name in ("caps.security.policy", "http.client", "xml.dom", "ftplib"):
    try:
        __import__(name)
    except ImportError:
        blocked.append(name)
[found, blocked]
"""


async def test_nothing_of_the_host_is_loaded_or_can_be() -> None:
    """With the language layer off, the modules of a live worker are all harmless ones."""
    source = ZygoteSource(arguments=("--without-language",))
    async with Runtime(
        {}, audit=MemoryAuditLog(), workers=source, isolation="best-effort"
    ) as runtime:
        result = await runtime.run(PROBE)
    loaded, blocked = result.unwrap()
    assert "caps.worker.inside.runner.serve" in loaded
    assert [name for name in loaded if name.startswith(FORBIDDEN)] == []
    assert blocked == ["caps.security.policy", "http.client", "xml.dom", "ftplib"]


async def test_the_library_that_makes_the_filter_is_not_mapped() -> None:
    """A child of the zygote built it, and the library was loaded only there."""
    async with spare() as (_, process):
        assert "libseccomp" not in (process / "maps").read_text()


async def test_a_worker_is_never_used_twice() -> None:
    """What one execution leaves behind, no other finds."""
    async with Runtime({}, audit=MemoryAuditLog()) as runtime:
        await runtime.run("import collections\nleft = 1")
        result = await runtime.run("left")
    assert result.error is not None
    assert result.error.type == "NameError"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become an ordinary user")
async def test_it_works_for_an_ordinary_user() -> None:
    """Namespaces are unprivileged: the same layers hold, fully, without root."""
    # Another user may be unable to reach this interpreter; a user without any capability, who
    # owns the same files, is as ordinary to everything that follows.
    program = """
import os
from pathlib import Path
from caps.worker.inside.confinement import linux
linux.unshare(linux.CLONE_NEWUSER)
Path("/proc/self/setgroups").write_text("deny")
Path("/proc/self/uid_map").write_text("1000 0 1")
Path("/proc/self/gid_map").write_text("1000 0 1")
linux.drop_capabilities()
from caps import MemoryAuditLog, Runtime
with Runtime({}, audit=MemoryAuditLog()) as runtime:
    held = {layer.name: layer.enforcement.value for layer in runtime.layers}
    print(os.geteuid(), set(held.values()), runtime.run_sync("6 * 7").value)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.stdout.strip() == "1000 {'fully'} 42", done.stderr
