"""The fault matrix, where a process must suffer: killed within a write, out of room, shut out.

Each host is a separate process. A kill comes at a named stage: the system call that begins the
stage is replaced by one that ends the process with SIGKILL, as nothing can be caught then.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from caps.security.audit import VerifyStatus, verify_log
from support.fault_host import FaultHost, recorded_writes, status_after_reopening

TESTS = Path(__file__).parents[2]

PRELUDE = """
import json, os, resource, signal, sys
from pathlib import Path
from caps.protocol.errors import AuditError
from caps.security.audit import Rotation
from caps.security.audit.signing import checkpoint
from support.fault_host import FaultHost

host = FaultHost(Path(sys.argv[1]))

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def about(data):
    return b"after.txt" in bytes(data)

pwrite, fdatasync, open_, append_lines = os.pwrite, os.fdatasync, os.open, checkpoint.append_lines
"""
RUN = """
told = {}
try:
    with host.open_runtime(**settings) as runtime:
        result = host.run_with_fault(runtime)
        told = {"status": result.status.value, "stdout": result.stdout}
        mend()
        told["mended"] = runtime.run_sync("await caps.files.write(path='later', content='x')").ok
except AuditError as error:
    told["error"] = error.message
print(json.dumps(told))
"""

STAGES = {
    "before the write": """
def fault():
    os.pwrite = lambda fd, data, at: die() if about(data) else pwrite(fd, data, at)
settings = {}
""",
    "half written": """
def half(fd, data, at):
    if about(data):
        pwrite(fd, data[: len(data) // 2], at)
        die()
    return pwrite(fd, data, at)
def fault():
    os.pwrite = half
settings = {}
""",
    "written, not synced": """
def write(fd, data, at):
    if about(data):
        os.fdatasync = die
    return pwrite(fd, data, at)
def fault():
    os.pwrite = write
settings = {}
""",
    "synced, not acknowledged": """
def sync(fd):
    fdatasync(fd)
    die()
def write(fd, data, at):
    if about(data):
        os.fdatasync = sync
    return pwrite(fd, data, at)
def fault():
    os.pwrite = write
settings = {}
""",
    "file closed, next one not made": """
def open_or_die(path, *rest, **more):
    return die() if "audit-" in str(path) else open_(path, *rest, **more)
def fault():
    os.open = open_or_die
settings = {"rotation": Rotation(bytes=1)}
""",
    "next file made, empty": """
def fault():
    os.pwrite = lambda fd, data, at: die() if at == 0 else pwrite(fd, data, at)
settings = {"rotation": Rotation(bytes=1)}
""",
    "next file made, half a record": """
def half(fd, data, at):
    if at == 0:
        pwrite(fd, data[:20], at)
        die()
    return pwrite(fd, data, at)
def fault():
    os.pwrite = half
settings = {"rotation": Rotation(bytes=1)}
""",
    "compressed, not renamed": """
def fault():
    os.rename = die
settings = {"rotation": Rotation(bytes=1), "compress": True}
""",
    "renamed, plain file not removed": """
def fault():
    os.unlink = die
settings = {"rotation": Rotation(bytes=1), "compress": True}
""",
    "before a checkpoint": """
def fault():
    checkpoint.append_lines = die
settings = {"checkpoint_every": 1}
""",
    "half a checkpoint": """
def half(directory, lines):
    with (directory / checkpoint.CHECKPOINTS).open("ab") as file:
        file.write(lines[: len(lines) // 2])
    die()
def fault():
    checkpoint.append_lines = half
settings = {"checkpoint_every": 1}
""",
}
# Nothing happens between the fault and its stage but upkeep, so the code waits for its end.
LINGER = """
from support import fault_host
second = "try:\\n    await caps.files.write"
wait = "import asyncio\\nawait asyncio.sleep(60)\\n"
fault_host.PROGRAM = fault_host.PROGRAM.replace(second, wait + second)
"""


def ran(program: str, place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A host that runs `program` for the files and the log in `place`."""
    return subprocess.run(
        [sys.executable, "-c", program, str(place)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(TESTS), **environment},
    )


@pytest.mark.parametrize("stage", STAGES)
def test_a_host_that_is_killed_within_a_write(stage: str, tmp_path: Path) -> None:
    """No effect without its record; all acknowledged records are there, and the log continues."""
    later = LINGER if "rename" in stage else ""
    program = f"{PRELUDE}{later}{STAGES[stage]}host.fault = fault\nmend = None\n{RUN}"
    done = ran(program, tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    host = FaultHost(tmp_path)
    assert host.files == {"before.txt"}
    found = verify_log(host.log).status
    assert found in (VerifyStatus.OK, VerifyStatus.TORN_TAIL)
    assert status_after_reopening(host.log) is VerifyStatus.OK
    assert "before.txt" in host.recorded_writes()
    with host.open_runtime(compress=True) as runtime:
        assert runtime.run_sync("await caps.files.write(path='later', content='x')").ok
    assert verify_log(host.log).status is VerifyStatus.OK


def told(program: str, place: Path, **environment: str) -> dict[str, Any]:
    done = ran(program, place, **environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def assert_fails_closed(said: dict[str, Any], place: Path) -> None:
    """Refused while it lasts; the log is valid, has all acknowledged records, and continues."""
    host = FaultHost(place)
    assert (said["status"], said["stdout"]) == ("host_failed", "refused")
    assert said["mended"]
    assert host.files == {"before.txt", "later"}
    assert status_after_reopening(host.log) is VerifyStatus.OK
    assert {"before.txt", "later"} <= recorded_writes(host.log)


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """RLIMIT_FSIZE: the written part of the record is removed."""
    program = f"""{PRELUDE}
def fault():
    size = (host.log / "audit-000001.jsonl").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, resource.RLIM_INFINITY))
def mend():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
settings = {{}}
host.fault = fault
{RUN}"""
    assert_fails_closed(told(program, tmp_path), tmp_path)


# An ordinary user in a separate namespace: root would not notice.
ORDINARY_USER = """
from caps.worker.inside.confinement import linux
maps = {"uid_map": f"1000 {os.getuid()} 1", "gid_map": f"1000 {os.getgid()} 1"}
linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS)
for name, text in {"setgroups": "deny", **maps}.items():
    Path(f"/proc/self/{name}").write_text(text)
"""


def test_permission_that_is_taken_away(tmp_path: Path) -> None:
    """A directory that may no longer be entered: its path cannot be checked, so no effect."""
    program = f"""{PRELUDE}{ORDINARY_USER}
linux.drop_capabilities()
def fault():
    host.log.chmod(0)
def mend():
    host.log.chmod(0o700)
settings = {{}}
host.fault = fault
{RUN}"""
    assert_fails_closed(told(program, tmp_path, CAPS_ISOLATION="best-effort"), tmp_path)


def test_a_disk_that_fills_up_while_code_runs(tmp_path: Path) -> None:
    """A tiny tmpfs: the record does not fit, and is taken back."""
    program = f"""{PRELUDE}{ORDINARY_USER}
import shutil
disk, kept = host.place / "log", host.place / "kept"
disk.mkdir()
linux._checked(linux._libc.mount(b"none", bytes(disk), b"tmpfs", 0, b"size=128k"), "mount")
def fault():
    with (disk / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x")
        except OSError:
            pass
def mend():
    (disk / "ballast").unlink()
settings = {{}}
host.fault = fault
host.principal = "p" * 5000  # no record fits into what the last page of the log has left
{RUN}
shutil.copytree(disk, kept)
"""
    said = told(program, tmp_path, CAPS_ISOLATION="best-effort")
    (tmp_path / "log").rmdir()
    (tmp_path / "kept").rename(tmp_path / "log")
    assert_fails_closed(said, tmp_path)


def test_a_full_device_as_a_required_sink(tmp_path: Path) -> None:
    """`/dev/full` as standard output takes nothing, so nothing runs."""
    files, policy, code = tmp_path / "files", tmp_path / "policy.json", tmp_path / "code.py"
    files.mkdir()
    policy.write_text(
        json.dumps(
            {
                "allow": ["files.write"],
                "scopes": {"files": {"allowlist": [str(files)], "read_only": False}},
            }
        )
    )
    code.write_text("await caps.files.write(path='a', content='x')")
    caps = [sys.executable, "-c", "from caps.cli.main import main; main()"]
    command = [*caps, "run", str(code), "--policy", str(policy)]
    command += ["--audit", str(tmp_path / "log"), "--audit-sink", "stdout:?deadline_ms=500"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 6
    assert "audit sink `stdout` is down: No space left on device" in done.stderr
    assert list(files.iterdir()) == []
    assert status_after_reopening(tmp_path / "log") is VerifyStatus.OK
