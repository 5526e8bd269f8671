"""`caps repl`: cells from a pipe and from a terminal, in sessions on real workers."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caps.security.audit import ExecutionEnded, ExecutionStarted, read_records

SCRIPT = Path(sys.executable).with_name("caps")


class Place:
    """A directory with a policy and an audit log, and the command there."""

    def __init__(self, directory: Path) -> None:
        self.audit = directory / "audit"
        self.policy = directory / "policy.json"
        limits = {"output_bytes": 10_000}
        self.policy.write_text(json.dumps({"id": "p", "allow": ["math.add"], "limits": limits}))
        self.environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("CAPS_")},
            "CAPS_AUDIT_PATH": str(self.audit),
        }
        self.command = (str(SCRIPT), "repl", "--policy", str(self.policy))

    def pipe(self, text: str | bytes) -> subprocess.CompletedProcess[str]:
        data = text if isinstance(text, bytes) else text.encode()
        done = subprocess.run(
            self.command, input=data, capture_output=True, env=self.environment, check=False
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def events(self, kind: type[Any]) -> list[Any]:
        records = read_records(self.audit)
        return [record.event for record in records if isinstance(record.event, kind)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class TestFromAPipe:
    def test_an_empty_line_ends_a_cell(self, place: Place) -> None:
        """Variables are kept, and every cell shows its output and its value."""
        done = place.pipe("x = 1\nprint('hi')\n\n\nx + 1\n\n(await caps.math.add(a=x, b=4)).result")
        assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n=> 2\n=> 5\n", "")

    def test_marks_part_the_cells_of_an_input_that_begins_with_one(self, place: Place) -> None:
        """Empty lines are part of them then."""
        done = place.pipe("# %% one\ndef f():\n\n    return 7\n# %%\n\nf()\n")
        assert (done.returncode, done.stdout, done.stderr) == (0, "=> 7\n", "")

    def test_a_cell_that_fails_does_not_end_it(self, place: Place) -> None:
        """All are run; the exit code is that of the first that did not end well."""
        done = place.pipe("x = 1\n\nx.missing\n\ncaps.files.read\n\nx\n")
        assert (done.returncode, done.stdout) == (1, "=> 1\n")
        assert 'File "<cell 2>", line 1, in <module>' in done.stderr

    def test_variables_are_kept_after_a_limit_unless_the_cell_was_killed(
        self, place: Place
    ) -> None:
        """The command says so if they are lost."""
        limits = {"wall_ms": 1000}
        place.policy.write_text(json.dumps({"id": "p", "limits": limits}))
        deaf = "import itertools\nsum(itertools.repeat(0))"
        done = place.pipe(f"x = 1\n\nwhile True: n = 1\n\nx\n\n{deaf}\n\n2\n\nx\n")
        assert (done.returncode, done.stdout) == (5, "=> 1\n=> 2\n")
        assert "killed, and all names of the session are lost\n" in done.stderr
        assert "caps: the names of all earlier runs are lost: " in done.stderr
        assert "NameError" in done.stderr

    def test_every_cell_is_in_the_audit_log(self, place: Place) -> None:
        """As executions of one session, for the user who ran the command."""
        place.pipe("1\n\n2\n")
        started = place.events(ExecutionStarted)
        assert len({event.execution_id for event in started}) == 2
        assert len({event.session for event in started}) == 1
        assert all(event.principal.startswith("user:") for event in started)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"\xff\n", "caps: standard input is not UTF-8 text: byte 0 of a line\n"),
            (b"x" * 300_000, "caps: a cell is longer than 262144 bytes\n"),
            (b"# x\n" * 80_000, "caps: a cell is longer than 262144 bytes\n"),
        ],
    )
    def test_input_that_is_no_code_is_refused_in_one_line(
        self, place: Place, data: bytes, message: str
    ) -> None:
        """Exit code 2, no traceback."""
        done = place.pipe(data)
        assert (done.returncode, done.stderr) == (2, message)

    def test_a_terminate_ends_the_cell_on_record(self, place: Place) -> None:
        """The code is killed, the end is written, and the exit code names the signal."""
        with subprocess.Popen(
            place.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=place.environment,
            text=True,
        ) as caps:
            assert caps.stdin is not None
            assert caps.stdout is not None
            caps.stdin.write("print('on')\nwhile True: pass\n\n")
            caps.stdin.flush()
            assert caps.stdout.readline() == "on\n"
            caps.send_signal(signal.SIGTERM)
            caps.communicate(timeout=60)
        assert caps.returncode == 143
        assert [event.status.value for event in place.events(ExecutionEnded)] == ["cancelled"]

    def test_no_input_is_no_cell(self, place: Place) -> None:
        """Nothing runs, and that is fine."""
        assert place.pipe("\n\n").returncode == 0


STUBBORN = """\
while True:
    try:
        print("be" + "gun")
        while True: n = 1
    except BaseException: pass

"""


class Terminal:
    """The command at its own terminal."""

    def __init__(self, place: Place) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            place.command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**place.environment, "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, text: str) -> str:
        """Read until `text` was shown; what came up to it."""
        while text not in self.shown:
            self.shown += os.read(self._ours, 4096).decode()
        before, _, self.shown = self.shown.partition(text)
        return before

    def interrupt_at_the_prompt(self) -> None:
        """Ctrl-C once the prompt is waited at: Python loses one that comes just before."""
        self.until(">>> ")
        stat = Path(f"/proc/{self.process.pid}/stat")
        while stat.read_text().rpartition(") ")[2][0] != "S":
            os.sched_yield()
        self.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal(place: Place) -> Iterator[Terminal]:
    opened = Terminal(place)
    yield opened
    opened.close()


class TestAtATerminal:
    def test_lines_and_blocks_are_cells(self, terminal: Terminal) -> None:
        """A line without a block runs immediately, a block after an empty line; Ctrl-D leaves."""
        terminal.until(">>> ")
        terminal.type("x = 20\n")
        terminal.until(">>> ")
        terminal.type("def f(n):\n")
        terminal.until("... ")
        terminal.type("    return n + 1\n\n")
        terminal.until(">>> ")
        terminal.type("f(x)\n")
        terminal.until("=> 21")
        terminal.until(">>> ")
        terminal.type("\x04")
        assert terminal.process.wait() == 0

    def test_an_interrupt_stops_the_cell_and_variables_are_kept(
        self, place: Place, terminal: Terminal
    ) -> None:
        """Code that does not stop is killed; at the prompt an interrupt drops the typed text."""
        terminal.until(">>> ")
        terminal.type("x = 1\n")
        terminal.interrupt_at_the_prompt()
        terminal.until(">>> ")
        terminal.type("x + 41\n")
        terminal.until("=> 42")
        terminal.until(">>> ")
        terminal.type("print('be' + 'gun'); import asyncio; await asyncio.sleep(600)\n")
        terminal.until("begun")
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("KeyboardInterrupt: the code was interrupted")
        terminal.until(">>> ")
        terminal.type("x + 1\n")
        terminal.until("=> 2")
        terminal.until(">>> ")
        terminal.type(STUBBORN)
        terminal.until("begun")
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("it was killed, and all names of the session are lost")
        terminal.until(">>> ")
        terminal.type("x\n")
        terminal.until("caps: the names of all earlier runs are lost")
        terminal.until("NameError")
        terminal.until(">>> ")
        terminal.type("\x04")
        assert terminal.process.wait() == 0
        statuses = [event.status.value for event in place.events(ExecutionEnded)]
        assert statuses == ["ok", "ok", "code_failed", "ok", "worker_lost", "code_failed"]
