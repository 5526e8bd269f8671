"""How a service ends, and what the next one finds: SIGTERM drains, SIGKILL leaves evidence."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import httpx2

from support.card_examples import card_with
from support.processes import descendants, has_ended, open_pidfds
from support.service_process import running_service

SLOW = "import asyncio\nprint('begun')\nawait asyncio.sleep(50)"
SHORT = "import asyncio\nprint('begun')\nawait asyncio.sleep(1)\n'done'"


def begin(client: httpx2.Client, code: str) -> str:
    """The id of an execution whose code runs."""
    answer = client.post("/v1/executions", json={"code": code, "wait": False})
    execution = str(answer.json()["id"])
    with client.stream("GET", f"/v1/executions/{execution}/events") as stream:
        assert next(line for line in stream.iter_lines() if "begun" in line)
    return execution


def test_a_killed_service_leaves_no_worker_and_marks_what_ran(tmp_path: Path) -> None:
    """What was acknowledged is there; of what was under way it is said whether it ran."""
    url = f"sqlite:///{tmp_path}/caps.db"
    with running_service(tmp_path, url) as first, first.client() as client:
        done = client.post("/v1/executions", json={"code": "7"}).json()
        ran = begin(client, SLOW)
        below = descendants(first.process.pid)
        assert below
        with open_pidfds(*below) as workers:
            assert first.end(signal.SIGKILL) == -signal.SIGKILL
            assert all(has_ended(worker, within_seconds=20) for worker in workers)
    # As if the service had died between its own row and the start of the code.
    never = "0" * 32
    with sqlite3.connect(tmp_path / "caps.db") as database:
        names = "principal, agent_id, session, instance, source_sha256, created_at"
        database.execute(
            f"insert into executions (id, status, started, {names}) "
            f"select ?, 'queued', 0, {names} from executions where id = ?",
            (never, ran),
        )
    database.close()
    with running_service(tmp_path, url) as second, second.client() as client:
        found = client.get(f"/v1/executions/{ran}").json()
        assert (found["status"], found["started"]) == ("lost", True)
        assert found["error"]["message"].endswith("ran, result lost")
        found = client.get(f"/v1/executions/{never}").json()
        assert (found["status"], found["started"]) == ("lost", False)
        assert found["error"]["message"].endswith("never ran")
        assert client.get(f"/v1/executions/{done['id']}").json() == done
        assert "finished" in client.get(f"/v1/executions/{ran}/events").text


def test_a_killed_service_keeps_every_card_that_it_acknowledged(tmp_path: Path) -> None:
    """Killed while cards are published; after the restart each is there, and valid."""
    url, acknowledged = f"sqlite:///{tmp_path}/caps.db", list[str]()
    with running_service(tmp_path, url) as first, first.client() as client:
        enough = threading.Event()

        def publish() -> None:
            for number in range(10_000):
                card = card_with(name="load.card", version=str(number))
                try:
                    answer = client.post("/v1/tools", json={"tool_card": card})
                except httpx2.HTTPError:
                    return
                if answer.status_code == 201:
                    acknowledged.append(answer.headers["location"])
                if len(acknowledged) == 5:
                    enough.set()

        publisher = threading.Thread(target=publish)
        publisher.start()
        assert enough.wait(60)
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
        publisher.join(60)
    with running_service(tmp_path, url) as second, second.client(sub="eve") as client:
        for location in acknowledged:
            assert client.get(location).json()["problem"] is None
        assert second.caps("tools", "verify").returncode == 0


def test_sigterm_lets_executions_end(tmp_path: Path) -> None:
    """Within the time to drain; one that takes longer is cancelled, and both ends are stored."""
    url = f"sqlite:///{tmp_path}/caps.db"
    with running_service(tmp_path, url, "--drain-seconds", "4") as first, first.client() as client:
        short, slow = begin(client, SHORT), begin(client, SLOW)
        assert first.end(signal.SIGTERM) == 0
    with running_service(tmp_path, url) as second, second.client() as client:
        assert client.get(f"/v1/executions/{short}").json()["result"]["value"] == "done"
        found = client.get(f"/v1/executions/{slow}").json()
        assert (found["status"], found["error"]["code"]) == ("cancelled", "cancelled")


def test_without_a_secret_only_loopback_is_served(tmp_path: Path) -> None:
    """The secret for development can be read by every program of the user."""
    code = "from caps.cli.main import main; main()"
    environment = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", "--host", "0.0.0.0", "--port", "0"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "`0.0.0.0` is not loopback, and there is no secret" in done.stderr


def test_a_second_service_on_the_audit_directory_does_not_start(tmp_path: Path) -> None:
    """It would take what the first one runs for lost. Once that has ended, the next may start."""
    url = f"sqlite:///{tmp_path}/caps.db"
    with running_service(tmp_path, url) as first, first.client() as client:
        runs = begin(client, SLOW)
        second = first.caps("serve", "--port", "0")
        assert second.returncode == 2
        assert "another service runs with the audit directory" in second.stderr
        assert len(second.stderr.splitlines()) == 1
        assert client.get(f"/v1/executions/{runs}").json()["status"] == "running"
        assert client.post(f"/v1/executions/{runs}/cancel").json()["status"] == "cancelled"
    with running_service(tmp_path, url) as third, third.client() as client:
        assert client.get(f"/v1/executions/{runs}").json()["status"] == "cancelled"
