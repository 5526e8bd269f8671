"""`caps --server`: the same output and exit codes as on this host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import CAPS
from support.service_process import POLICY, ServiceProcess, running_service, token

Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    state = tmp_path_factory.mktemp("service-of-commands")
    with running_service(state, f"sqlite:///{state}/caps.db") as made:
        made.address  # noqa: B018 - waits until it serves
        yield made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "operator.json").write_text(json.dumps(POLICY))
    return tmp_path


def caps(place: Path, *arguments: str, stdin: str = "", **variables: str) -> Done:
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "state"), **variables}
    return subprocess.run(
        [CAPS, *arguments],
        capture_output=True,
        text=True,
        input=stdin,
        env=environment,
        cwd=place,
        timeout=120,
        check=False,
    )


def both(service: ServiceProcess, place: Path, *arguments: str, stdin: str = "") -> list[Done]:
    """The command there and here, under the same policy."""
    there = caps(
        place, "--server", service.address, *arguments, stdin=stdin, CAPS_TOKEN=token(sub="user")
    )
    here = caps(place, *arguments, stdin=stdin, CAPS_POLICY_PATH=str(place / "operator.json"))
    return [there, here]


PROGRAMS = {
    "value": ("print('hello')\n1, {2}", 0),
    "exact": ("[1, 'two', None, 3.5]", 0),
    "nothing": ("x = 1", 0),
    "failure": ("def f():\n    1 / 0\nf()", 1),
    "syntax": ("1 +", 1),
    "refused": ("await caps.files.read(path='x')", 3),
    "escapes": ("print('\\x1b[2J')", 0),
    "object": ("class A:\n    def __repr__(self):\n        return 'one A'\nA()", 0),
    "decision": ("await caps.math.add(a=1, b=2)", 0),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_run_prints_and_exits_as_it_does_here(
    name: str, service: ServiceProcess, place: Path
) -> None:
    """Output, value, traceback, exit code."""
    code, expected = PROGRAMS[name]
    there, here = both(service, place, "run", "-", stdin=code)
    assert (there.stdout, there.stderr, there.returncode) == (
        here.stdout,
        here.stderr,
        here.returncode,
    )
    assert there.returncode == expected


def test_run_with_everything(service: ServiceProcess, place: Path) -> None:
    """Inputs, arguments, a file name, a policy beneath the operator's, and JSON."""
    (place / "own.json").write_text(
        json.dumps({"version": 1, "id": "own", "allow": ["math.add"], "limits": {"cpu_ms": 200}})
    )
    (place / "p.py").write_text(
        "import sys\nprint(n, sys.argv[1:], hasattr(caps.math, 'multiply'))\nn + 1"
    )
    arguments = ["run", "p.py", "--input", "n=41", "--policy", "own.json", "--json", "--", "a", "b"]
    there = caps(place, "--server", service.address, *arguments, CAPS_TOKEN=token())
    here = caps(place, *arguments)
    found, expected = json.loads(there.stdout), json.loads(here.stdout)
    assert list(found) == list(expected)
    assert (found["stdout"], found["value"]) == ("41 ['a', 'b'] False\n", 42)
    assert (found["stdout"], found["value"]) == (expected["stdout"], expected["value"])
    loop = caps(
        place,
        *("--server", service.address, "run", "-", "--policy", "own.json"),
        stdin="while True: pass",
        CAPS_TOKEN=token(),
    )
    assert (loop.returncode, "limit" in loop.stderr) == (5, True)


def test_call_prints_and_exits_as_it_does_here(service: ServiceProcess, place: Path) -> None:
    """The value, a refusal, a payload that does not fit."""
    for arguments, expected in (
        (("call", "math.add", '{"a": 1, "b": 2}'), 0),
        (("call", "files.read", '{"path": "x"}'), 3),
        (("call", "math.add", '{"a": "x"}'), 1),
        (("call", "math.add", "[]"), 2),
    ):
        there, here = both(service, place, *arguments)
        assert (there.stdout, there.stderr, there.returncode) == (
            here.stdout,
            here.stderr,
            here.returncode,
        )
        assert there.returncode == expected
    there, here = both(service, place, "call", "math.add", '{"a": 1, "b": 2}', "--json")
    assert list(json.loads(there.stdout)) == list(json.loads(here.stdout))


def test_agents_are_created_listed_shown_used_and_deleted(
    service: ServiceProcess, place: Path
) -> None:
    """By name or id, through the token of a file; printed as those of the store are."""
    (place / "token").write_text(token())
    options = ("--server", service.address, "--token-file", str(place / "token"))
    agent = {"name": "Adder", "capabilities": {"test_math": {"tools": ["add"]}}}
    ids = {}
    for where in (options, ()):
        file = ("--file", "-", "--json")
        made = caps(place, *where, "agents", "create", *file, stdin=json.dumps(agent))
        assert (made.returncode, made.stderr) == (0, "")
        ids[where] = agent_id = json.loads(made.stdout)["id"]
        listed = caps(place, *where, "agents", "list")
        assert f"{agent_id}  Adder  test_math\n" in listed.stdout
    shown = [json.loads(caps(place, *where, "agents", "show", "Adder").stdout) for where in ids]
    for each in shown:
        assert (each["name"], each["capabilities"]) == ("Adder", agent["capabilities"])
        assert each["tools"] == [{"key": "add", "function": "math.add"}]
    assert list(shown[0]) == list(shown[1])
    found = json.loads(caps(place, *options, "agents", "list", "--json").stdout)
    assert [each["name"] for each in found if each["id"] == ids[options]] == ["Adder"]
    code = "hasattr(caps.math, 'multiply')"
    run = caps(place, *options, "run", "-", "--agent", ids[options], stdin=code)
    assert run.stdout == "=> False\n"
    for where, agent_id in ids.items():
        gone = caps(place, *where, "agents", "delete", agent_id)
        assert (gone.returncode, gone.stdout) == (0, "the agent `Adder` is deleted\n")
        gone = caps(place, *where, "agents", "show", agent_id)
        assert (gone.returncode, gone.stderr) == (2, f"caps: there is no agent `{agent_id}`\n")


AGENTS = {
    "unknown key": ({"name": "a", "tools": []}, 2),
    "no name": ({}, 2),
    "unknown capability": ({"name": "a", "capabilities": {"test_maht": {}}}, 2),
    "unknown tool": ({"name": "a", "capabilities": {"test_math": {"tools": ["ad"]}}}, 2),
    "policy": ({"name": "a", "policy": {"allow": ["math.ad"]}}, 4),
}


@pytest.mark.parametrize("name", list(AGENTS))
def test_an_agent_that_does_not_fit_is_refused_as_here(
    name: str, service: ServiceProcess, place: Path
) -> None:
    """In the same words."""
    document, expected = AGENTS[name]
    command = ("agents", "create", "--file", "-")
    there, here = both(service, place, *command, stdin=json.dumps(document))
    assert (there.stdout, there.stderr) == ("", here.stderr)
    assert (there.returncode, here.returncode) == (expected, expected)


def test_which_agent_is_meant_is_told_as_here(service: ServiceProcess, place: Path) -> None:
    """By no name, a name that none can have, and one that two have."""
    for name in ("nobody", "x" * 300, "\udcff", ""):
        there, here = both(service, place, "agents", "show", name)
        assert (there.returncode, there.stderr) == (here.returncode, here.stderr)
        assert (there.returncode, there.stderr.count("\n")) == (2, 1)
    for _ in range(2):
        done = both(service, place, "agents", "create", "--name", "twin")
        assert [each.returncode for each in done] == [0, 0]
    there, here = both(service, place, "agents", "delete", "twin")
    assert (
        there.stderr == here.stderr == "caps: several agents are named `twin`; give the id of one\n"
    )


def test_show_names_the_tools_that_the_service_withholds(
    service: ServiceProcess, place: Path
) -> None:
    """Its policies are in force there."""
    options = ("--server", service.address)
    made = ("agents", "create", "--name", "writer", "--capabilities", '["stateless_todo_list"]')
    assert caps(place, *options, *made, CAPS_TOKEN=token()).returncode == 0
    done = caps(place, *options, "agents", "show", "writer", CAPS_TOKEN=token())
    shown = json.loads(done.stdout)
    assert shown["tools"] == []
    assert "the policy does not allow the tools `" in shown["warnings"][-1]


def test_the_audit_log_of_the_service_is_read_and_verified(
    service: ServiceProcess, place: Path
) -> None:
    """The same records in the same form as by the commands on its files."""
    options = ("--server", service.address)
    run = caps(
        place, *options, "run", "-", "--json", "--trail", stdin="1", CAPS_TOKEN=token(sub="audited")
    )
    execution = json.loads(run.stdout)["execution_id"]
    assert "execution" in run.stderr
    log = ("--audit", str(service.state / "caps/audit"))
    for arguments in (
        ("show", "--execution", execution, "--json"),
        ("query", "--execution", execution, "--kind", "execution_started", "--csv"),
        ("tail", "-n", "1", "--execution", execution),
        ("stats", "--execution", execution),
    ):
        there = caps(place, *options, "audit", *arguments, CAPS_TOKEN=token())
        here = caps(place, "audit", *arguments, *log)
        assert (there.stdout, there.stderr) == (here.stdout, here.stderr)
        assert (there.returncode, here.returncode) == (0, 0)
    verified = caps(place, *options, "audit", "verify", "--json", CAPS_TOKEN=token())
    assert (verified.returncode, json.loads(verified.stdout)["status"]) == (0, "ok")
    others = caps(
        place,
        *options,
        *("audit", "show", "--json", "--execution", execution),
        CAPS_TOKEN=token(sub="other", role="viewer"),
    )
    assert (others.returncode, others.stdout) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("audit", "tail", "-f"), "`caps audit tail -f` works on this host only"),
        (("audit", "show", "--audit", "x"), "`--audit` cannot be used with a service"),
        (("secrets", "list"), "`caps secrets` works on this host only"),
        (("doctor",), "`caps doctor` works on this host only"),
        (("run", "-", "--audit", "x"), "`--audit` cannot be used with a service"),
        (("run", "-", "--principal", "x"), "`--principal` cannot be used with a service"),
        (("run", "-", "--policy", "a", "--policy", "b"), "give one `--policy`"),
        (("call", "math.add", "--registry", "x:y"), "`--registry` cannot be used"),
        (("agents", "run", "a", "hello"), "`caps agents run` works on this host only"),
        (("agents", "chat", "a"), "`caps agents chat` works on this host only"),
        (("agents", "list", "--url", "sqlite:///x"), "`--url` cannot be used with a service"),
        (("agents", "show", "a", "--registry", "x:y"), "`--registry` cannot be used"),
        (("agents", "create", "--name", "a", "--principal", "x"), "`--principal` cannot be used"),
        (("audit", "prove", "x"), "`caps audit prove` works on this host only"),
    ],
)
def test_what_cannot_be_remote_says_so_in_one_line(
    arguments: tuple[str, ...], expected: str, service: ServiceProcess, place: Path
) -> None:
    """And does nothing."""
    done = caps(place, "--server", service.address, *arguments, CAPS_TOKEN=token())
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert expected in done.stderr


def test_a_command_about_this_host_ignores_the_variable(
    service: ServiceProcess, place: Path
) -> None:
    """But one that a service has, too, is refused: it would act on the wrong one."""
    variables = {"CAPS_SERVER": service.address, "CAPS_TOKEN": token()}
    assert caps(place, "config", "check", **variables).returncode == 0
    assert caps(place, "run", "-", stdin="6 * 7", **variables).stdout == "=> 42\n"
    assert caps(place, "secrets", "list", **variables).returncode == 2


def test_sign_in_and_reach_are_told(service: ServiceProcess, place: Path) -> None:
    """In one line, with the exit code of the fault; the token is shown nowhere."""
    wrong = token(secret="x" * 40)
    for url, given, expected in (
        (service.address, wrong, 2),
        (service.address, "", 2),
        ("http://10.255.255.1:1", wrong, 2),
        ("http://127.0.0.1:9", wrong, 6),
    ):
        done = caps(place, "--server", url, "run", "-", stdin="1", CAPS_TOKEN=given)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (expected, "", 1)
        assert wrong not in done.stderr


def test_ctrl_c_cancels_it_there(service: ServiceProcess, place: Path) -> None:
    """The execution is killed, and the exit code says why."""
    code = "import asyncio\nprint('begun', flush=True)\nawait asyncio.sleep(50)"
    environment = {**os.environ, "CAPS_TOKEN": token(sub="ctrl-c")}
    process = subprocess.Popen(
        [CAPS, "--server", service.address, "run", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(code)
    process.stdin.close()
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    process.stdin = None
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "caps: interrupted\n")
    with service.client(sub="ctrl-c") as client:
        (execution,) = [
            each
            for each in client.get("/v1/executions").json()["items"]
            if each["principal"] == "ctrl-c"
        ]
    assert execution["status"] == "cancelled"
