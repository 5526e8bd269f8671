"""`make serve`, and the lines of README that use it, as they are written there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
START_SECONDS = 120


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address and the token that it prints. Nothing is installed: the tests have it all."""
    state = tmp_path_factory.mktemp("make-serve")
    process = subprocess.Popen(
        [
            *("make", "--no-print-directory", "-o", f"{sys.prefix}/.service", "serve"),
            *(f"VENV={sys.prefix}", "PORT=0", f"SERVICE_AUDIT={state}/audit"),
        ],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(state)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    late = threading.Timer(START_SECONDS, process.kill)
    late.start()
    try:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if "serving on " in line:
                break
        (token,) = [line for line in lines if re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+", line)]
        yield lines[-1].split()[-1], token
    finally:
        late.cancel()
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)


def commands() -> list[str]:
    """The lines of README after `make serve`."""
    section = (ROOT / "README.md").read_text().partition("## As a service")[2]
    block = section.partition("```console\n")[2].partition("```")[0]
    return [line.removeprefix("$ ") for line in block.splitlines()]


def test_the_lines_of_the_readme_work(served: tuple[str, str]) -> None:
    """Five requests; only the address differs."""
    address, token = served
    variables, *requests = commands()
    assert len(requests) == 5
    assert all(line.startswith("curl ") for line in requests)
    variables = variables.replace("http://127.0.0.1:8080", address)
    answers = []
    for request in requests:
        done = subprocess.run(
            ["bash", "-c", f"{variables}\n{request}"],
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "TOKEN": token},
            timeout=60,
            check=True,
        )
        answers.append(json.loads(done.stdout))
    capabilities, execution, call, agent, executions = answers
    assert "current_time" in [each["id"] for each in capabilities["items"]]
    assert (execution["status"], execution["result"]["value"]) == ("finished", 6)
    assert call["ok"] is True
    assert agent["capabilities"] == ["current_time"]
    assert [each["id"] for each in executions["items"]] == [execution["id"]]
