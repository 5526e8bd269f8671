"""The process of the command: what it begins before it loads the command, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from caps.protocol.environment import Variable

pytestmark = pytest.mark.process

# Reports each zygote that is launched, and at the end which of them still run.
_REPORTING = """
import atexit, json, sys
import caps.worker.host.zygote.launch as launching
launch, launched = launching.launch, []
def reporting(*arguments):
    zygote = launch(*arguments)
    launched.append((zygote, "click" not in sys.modules))
    return zygote
launching.launch = reporting
def report():
    found = [(first, zygote.process.poll() is not None) for zygote, first in launched]
    print(json.dumps(found), file=sys.stderr)
atexit.register(report)
from caps.cli.process import main
main()
"""


class Ended:
    """The command in a process of its own, with its code and output."""

    def __init__(self, arguments: list[str], *, code: str, closed: str = "", **more: str) -> None:
        command = [sys.executable, "-c", code, *arguments]
        shell = ["sh", "-c", f'"$@" {closed}', "sh", *command]
        variables = {k: v for k, v in os.environ.items() if not k.startswith("CAPS_")} | more
        done = subprocess.run(
            shell, env=variables, capture_output=True, text=True, timeout=120, check=False
        )
        self.code, self.output, self.errors = done.returncode, done.stdout, done.stderr

    @property
    def zygotes(self) -> list[list[bool]]:
        """Of each zygote: whether it was launched first of all, and whether it has ended."""
        found: list[list[bool]] = json.loads(self.errors.splitlines()[-1])
        return found


@pytest.fixture
def run(tmp_path: Path) -> list[str]:
    """The arguments of `caps run` for a program that prints."""
    program = tmp_path / "program.py"
    program.write_text("print('printed')\n6 * 7")
    return ["run", str(program), "--audit", str(tmp_path / "audit")]


class TestTheEnd:
    @pytest.mark.parametrize(
        ("arguments", "code"), [(["--version"], 0), (["unheard"], 2), (["config", "unheard"], 2)]
    )
    def test_has_the_status_of_the_command(self, arguments: list[str], code: int) -> None:
        """As if the interpreter had ended the process."""
        assert Ended(arguments, code="from caps.cli.process import main; main()").code == code

    def test_comes_after_threads_and_handlers_and_loses_no_output(self) -> None:
        """In this order; what is still buffered is written."""
        code = (
            "import atexit, threading\n"
            "from caps.cli.process import main\n"
            "atexit.register(print, 'handler')\n"
            "def last():\n"
            "    threading.main_thread().join()\n"
            "    print('thread')\n"
            "threading.Thread(target=last).start()\n"
            "main()\n"
        )
        ended = Ended(["--version"], code=code)
        assert ended.output.splitlines()[1:] == ["thread", "handler"]

    def test_leaves_the_report_of_an_error_to_the_interpreter(self) -> None:
        """A message instead of a status is printed."""
        code = (
            "import sys, caps.cli.main\n"
            "caps.cli.main.main = lambda: sys.exit('broken')\n"
            "from caps.cli.process import main\n"
            "main()\n"
        )
        ended = Ended([], code=code)
        assert (ended.code, ended.errors) == (1, "broken\n")


class TestAnInterrupt:
    """Ctrl-C."""

    @pytest.mark.parametrize("module", ["caps.cli.main", "caps.cli.commands.run"])
    def test_ends_it_while_the_command_is_loaded(self, run: list[str], module: str) -> None:
        """As it ends others: no import can swallow it, and nothing is printed."""
        code = (
            "import os, signal, sys\n"
            "class Strike:\n"
            "    def find_spec(self, name, *_):\n"
            f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
            "from caps.cli.process import main\n"
            "sys.meta_path.insert(0, Strike())\n"
            "main()\n"
        )
        ended = Ended(run, code=code)
        assert (ended.code, ended.output, ended.errors) == (130, "", "")

    def test_ends_the_wait_for_threads_and_nothing_else(self) -> None:
        """As the interpreter does: what is registered for the end runs, and the status stays."""
        code = (
            "import atexit, threading\n"
            "from caps.cli.process import main\n"
            "atexit.register(print, 'handler')\n"
            "def interrupted(): raise KeyboardInterrupt\n"
            "threading._shutdown = interrupted\n"
            "main()\n"
        )
        ended = Ended(["--version"], code=code)
        assert (ended.code, ended.output.splitlines()[1:]) == (0, ["handler"])

    def test_means_what_it_did_when_the_command_runs(self) -> None:
        """Also if it was ignored from the start."""
        for handler in ("default_int_handler", "SIG_IGN"):
            code = (
                "import signal, caps.cli.main\n"
                f"before = signal.{handler}\n"
                "signal.signal(signal.SIGINT, before)\n"
                "caps.cli.main.main = lambda: print(signal.getsignal(signal.SIGINT) == before)\n"
                "from caps.cli.process import main\n"
                "main()\n"
            )
            assert Ended([], code=code).output == "True\n"


class TestTheZygoteOfARun:
    def test_is_launched_before_the_command_is_loaded(self, run: list[str]) -> None:
        """There is only one, and the run uses it."""
        ended = Ended(run, code=_REPORTING)
        assert (ended.code, ended.output) == (0, "printed\n=> 42\n")
        assert ended.zygotes == [[True, True]]

    def test_is_killed_if_nobody_took_it(self, run: list[str]) -> None:
        """An option was wrong."""
        ended = Ended([*run, "--unheard"], code=_REPORTING)
        assert ended.code == 2
        assert ended.zygotes == [[True, True]]

    @pytest.mark.parametrize("arguments", [["run", "--help"], ["config", "--help"], []])
    def test_is_not_launched_for_what_runs_nothing(self, arguments: list[str]) -> None:
        """Nor for another command."""
        assert Ended(arguments, code=_REPORTING).zygotes == []

    def test_is_not_launched_for_a_service(self, run: list[str]) -> None:
        """Another host runs the code."""
        ended = Ended(run, code=_REPORTING, **{Variable.SERVER.key: "http://127.0.0.1:1"})
        assert ended.code != 0
        assert ended.zygotes == []

    @pytest.mark.parametrize("closed", ["<&-", ">&-"])
    def test_waits_until_closed_streams_are_open(self, run: list[str], closed: str) -> None:
        """Its socket must not become standard input or output."""
        ended = Ended(run, code=_REPORTING, closed=closed)
        assert ended.code == 0
        assert ended.zygotes == [[False, True]]
