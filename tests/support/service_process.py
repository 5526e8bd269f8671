"""A real `caps serve` in a process of its own, and clients of it with tokens of any kind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import jwt

SECRET = "a secret for the tests of the service, long enough"
POLICY = {
    "version": 1,
    "id": "operator",
    "allow": ["math.*", "time.now"],
    "approve": ["math.divide"],
    "limits": {"wall_ms": 60_000, "cpu_ms": 30_000, "approval_ms": 60_000},
}
START_SECONDS = 60


def claims(**changed: Any) -> dict[str, Any]:
    """The claims of a good token, with changes; None leaves one out."""
    now = int(time.time())
    good = {"sub": "ada", "role": "admin", "iss": "caps", "aud": "caps", "exp": now + 600}
    return {name: value for name, value in (good | changed).items() if value is not None}


def token(secret: str = SECRET, algorithm: str = "HS256", **changed: Any) -> str:
    return jwt.encode(claims(**changed), secret, algorithm=algorithm)


class ServiceProcess:
    """One service; `state` holds its store, audit log, secret and policy."""

    def __init__(
        self,
        state: Path,
        store_url: str,
        *options: str,
        policy: Mapping[str, Any] = POLICY,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.state = state
        (state / "secret").write_text(SECRET)
        (state / "policy.json").write_text(json.dumps(policy))
        self.environment = {
            "PATH": os.environ["PATH"],
            "XDG_STATE_HOME": str(state),
            "CAPS_DATABASE_URL": store_url,
            "CAPS_TOKEN_SECRET_FILE": str(state / "secret"),
            "CAPS_POLICY_PATH": str(state / "policy.json"),
            "CAPS_ISOLATION": os.environ.get("CAPS_ISOLATION", ""),
            **(variables or {}),
        }
        code = "from caps.cli.main import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "serve", "--port", "0", *options],
            env={name: value for name, value in self.environment.items() if value},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        self._address: str | None = None
        self._said = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if "serving on " in line:
                self._address = line.split()[-1]
                self._said.set()
        self._said.set()

    @property
    def address(self) -> str:
        assert self._said.wait(START_SECONDS), "the service did not start in time"
        assert self._address is not None, "".join(self.log)
        return self._address

    def client(self, **changed: Any) -> httpx2.Client:
        """A client with a token of these claims."""
        headers = {"Authorization": f"Bearer {token(**changed)}"}
        return httpx2.Client(base_url=self.address, headers=headers, timeout=60)

    def caps(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A `caps` command with the settings of the service."""
        code = "from caps.cli.main import main; main()"
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={name: value for name, value in self.environment.items() if value},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send the signal, and wait for the end."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(60)
        self._reader.join(10)
        return code


def wait_until(is_so: Callable[[], object]) -> None:
    """Poll until it is so; each poll asks a service, so nobody has to sleep."""
    ends = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends


@contextmanager
def running_service(
    state: Path, store_url: str, *options: str, **changed: Any
) -> Iterator[ServiceProcess]:
    service = ServiceProcess(state, store_url, *options, **changed)
    try:
        yield service
    finally:
        service.end(signal.SIGTERM)
        assert service.process.stderr is not None
        service.process.stderr.close()
