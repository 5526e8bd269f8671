"""Every command with hostile files, paths, options and variables.

The rule is in `support.hostile_input`: one line, a documented exit code, never a traceback, and
bounded time and memory. The short form tries each path with each place that takes one; the long
form (`HYPOTHESIS_PROFILE=long`) also combines them at random. Real processes are started only where
descriptors or memory matter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from caps.cli.exits import ExitCode
from caps.cli.main import main
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import printable
from caps.security.audit import AuditLog, AuditSettings
from caps.security.audit.log.settings import checked_settings
from support.hostile_input import (
    JSON_TEXTS,
    NUMBERS,
    POLICY,
    TEXTS,
    check_rule,
    hostile_files,
    no_hang,
)
from support.hypothesis_examples import examples

SCRIPT = Path(sys.executable).with_name("caps")
# Commands with a place for a path, one for each way in which a path is read.
PATHS = (
    "policy validate {}",
    "policy test ok.json --tests {}",
    "policy lint {}",
    "policy replay {} --policy ok.json",
    "functions --registry {}",
    "audit show --audit {}",
    "audit verify --audit {}",
    "audit verify --audit log --public-key {}",
    "audit verify --audit log --checkpoints {}",
    "audit verify-proof {} --public-key log/signing.pub",
    "audit hash x --audit {}",
    "audit prove 1 --audit {}",
    "audit rotate-key --audit {}",
    "approvals list --approvals {}",
    "approvals allow abc --approvals {}",
)
# Others that read a path in one of these ways; only the random combinations try them.
MORE_PATHS = (
    "policy test {}",
    "policy diff {} ok.json",
    "policy diff ok.json {}",
    "policy explain files.read --policy {}",
    "policy replay log --policy ok.json --recorded-under {}",
    "functions --policy {}",
    "functions --stubs --policy {}",
    "capabilities --registry {}",
    "audit query --json --audit {}",
    "audit tail --csv --audit {}",
    "audit stats --audit {}",
    "audit verify-proof ok.json --public-key {}",
    "audit export --format ocsf --audit {}",
    "approvals show abc --approvals {}",
    "approvals deny abc --json --approvals {}",
)
# These start a zygote before they read the file, so they get fewer paths.
CODE_PATHS = ("run {} --audit audit", "policy learn {} --audit audit")
NUMBER_OPTIONS = (
    "audit show --audit log --limit {}",
    "audit tail --audit log -n {}",
    "audit stats --audit log --top {}",
    "audit prove {} --audit log",
    "approvals allow abc --calls {} --approvals waiting",
    "approvals allow abc --for {} --approvals waiting",
    "run ok.json --metrics-port {}",
)
TEXT_OPTIONS = (
    "{}",
    "policy {}",
    "audit show --audit log --since {}",
    "audit show --audit log --until {}",
    "audit show --audit log --execution {}",
    "audit show --audit log --capability {}",
    "audit show --audit log --kind {}",
    "audit query --audit log --value-hash {}",
    "audit prove {} --audit log",
    "audit hash {} --audit log",
    "audit export --format cloudevents --source {} --audit log",
    "approvals show {} --approvals waiting",
    "approvals deny {} --approvals waiting",
    "approvals allow abc --by {} --approvals waiting",
    "policy explain {} --policy ok.json",
    "policy learn log --id {}",
    "functions --registry {}",
)
JSON_ARGUMENTS = (
    "policy explain files.read {} --policy ok.json",
    "audit hash --json {} --audit log",
)


class Place:
    """A directory with a valid policy, a log, and hostile files; commands run there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "ok.json").write_text(json.dumps(POLICY))
        (directory / "sandbox").mkdir()
        (directory / "waiting").mkdir(mode=0o700)
        (directory / "hostile").mkdir()
        self.files = hostile_files(directory / "hostile")

    def caps(
        self, *args: str, variables: Mapping[str, str] | None = None, stdin: bytes = b""
    ) -> None:
        """`caps <args>` in this process, which must keep the rule."""
        environment: dict[str, str | None] = {variable.key: None for variable in Variable}
        environment |= {"XDG_STATE_HOME": str(self.directory / "state"), **(variables or {})}
        with no_hang():
            result = CliRunner().invoke(main, args, input=stdin, env=environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        check_rule(result.exit_code, result.stdout, result.stderr)

    def fill(self, command: str, value: str) -> None:
        """The command with `value` in its place."""
        self.caps(*(value if part == "{}" else part for part in command.split()))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """In the directory, so that names are short; the log has a few records."""
    directory = tmp_path_factory.mktemp("bad")
    before = Path.cwd()
    os.chdir(directory)
    try:
        AuditLog.open(directory / "log").close()
        yield Place(directory)
    finally:
        os.chdir(before)


@pytest.mark.parametrize("command", PATHS)
def test_hostile_paths(place: Place, command: str) -> None:
    """Every kind of file and name, wherever a path is taken."""
    for path in place.files.values():
        place.fill(command, path)


@pytest.mark.process
@pytest.mark.parametrize("kind", ["pipe", "endless", "memory", "huge", "long name", "kernel"])
@pytest.mark.parametrize("command", CODE_PATHS)
def test_hostile_code(place: Place, command: str, kind: str) -> None:
    """Nothing runs, and nothing waits."""
    place.fill(command, place.files[kind])


@pytest.mark.parametrize("command", NUMBER_OPTIONS)
def test_hostile_numbers(place: Place, command: str) -> None:
    """Also beyond a machine word."""
    for number in NUMBERS:
        place.fill(command, number)


@pytest.mark.parametrize("command", TEXT_OPTIONS)
def test_hostile_texts(place: Place, command: str) -> None:
    """Also with what a terminal obeys."""
    for text in TEXTS:
        place.fill(command, text)


@pytest.mark.parametrize("command", JSON_ARGUMENTS)
def test_hostile_json(place: Place, command: str) -> None:
    """Also deep, long, and not quite JSON."""
    for text in JSON_TEXTS:
        place.fill(command, text)


@pytest.mark.parametrize(
    ("variable", "command"),
    [
        (Variable.POLICY_PATH, "policy validate"),
        (Variable.APPROVALS_PATH, "approvals list"),
        (Variable.AUDIT_PATH, "audit stats"),
        (Variable.REGISTRY, "functions"),
        (Variable.PLUGINS, "capabilities"),
    ],
)
def test_hostile_variables(place: Place, variable: Variable, command: str) -> None:
    """As the option that says the same."""
    for value in (*TEXTS, *place.files.values()):
        place.caps(*command.split(), variables={variable.key: value})


@pytest.mark.parametrize("variable", list(Variable), ids=lambda each: each.key)
def test_hostile_settings(place: Place, variable: Variable) -> None:
    """Each value is accepted or refused in one line when the settings are read."""
    for value in (*TEXTS, *NUMBERS, *place.files.values()):
        try:
            settings = AuditSettings.from_environment(None, {variable.key: value})
            checked_settings(settings, {})
        except ConfigurationError as error:
            check_rule(ExitCode.BAD_USAGE, "", f"caps: {printable(error.message, 4096)}\n")


@examples(25)
@given(st.data())
def test_random_combinations(place: Place, data: st.DataObject) -> None:
    """Several hostile values in one command."""
    command = data.draw(st.sampled_from([*PATHS, *MORE_PATHS, *NUMBER_OPTIONS[:-1], *TEXT_OPTIONS]))
    # No argument of a process has NUL in it.
    written = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
    values = st.sampled_from([*place.files.values(), *NUMBERS, *TEXTS]) | written
    more = st.sampled_from(["--json", "--audit", "--policy", "--registry", "-o", "--limit", "--"])
    args = [data.draw(values) if part == "{}" else part for part in command.split()]
    for option in data.draw(st.lists(more, max_size=2)):
        args += [option, data.draw(values)]
    if {"-f", "--follow"} & set(args) or {"-o", "--output"} & set(args):
        return  # they wait, or write
    place.caps(*args)


WRITING = (
    "--help",
    "--version",
    "run code.py --audit audit",
    "run code.py --audit audit --json",
    "run code.py --audit audit --trail",
    "audit verify --audit log",
    "audit verify --audit log --json",
    "audit show --audit log",
    "audit show --audit log --json",
    "policy lint ok.json --json",
    "functions",
    "capabilities",
    "approvals list --json",
)
_BOUNDED_KIB = 3 * 1024 * 1024


@pytest.mark.process
class TestProcesses:
    """What only a separate process can show: its descriptors, its memory and its end."""

    def start(
        self, place: Place, command: str, *, redirect: str = "", stdout: int = subprocess.PIPE
    ) -> subprocess.CompletedProcess[str]:
        """`caps <command>` from a shell, with bounded memory."""
        (place.directory / "code.py").write_text("print('one'); print('two')\n3")
        kept = {name: text for name, text in os.environ.items() if not name.startswith("CAPS_")}
        return subprocess.run(
            ["bash", "-c", f'ulimit -v {_BOUNDED_KIB}; exec "$0" {command} {redirect}', SCRIPT],
            cwd=place.directory,
            env={**kept, "XDG_STATE_HOME": str(place.directory / "state")},
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )

    @pytest.mark.parametrize("command", WRITING)
    def test_output_to_a_full_disk(self, place: Place, command: str) -> None:
        """One line that says so, and the code of a failed host."""
        ended = self.start(place, command, redirect=">/dev/full")
        said = "caps: standard output cannot be written: no space left on device\n"
        assert (ended.returncode, ended.stderr) == (ExitCode.HOST_FAILED, said)

    @pytest.mark.parametrize("command", WRITING)
    def test_output_that_nobody_reads(self, place: Place, command: str) -> None:
        """It ends as other commands do; a run ends with its own code and its evidence."""
        reader, writer = os.pipe()
        os.close(reader)
        try:
            ended = self.start(place, command, stdout=writer)
        finally:
            os.close(writer)
        ran = command.startswith("run") and "--json" not in command
        code = ExitCode.OK if ran else ExitCode.NO_READER
        assert (ended.returncode, ended.stderr) == (code, "")

    @pytest.mark.parametrize(
        ("command", "redirect"),
        [
            ("run code.py --audit audit --json", ">&-"),
            ("run code.py --audit audit", "<&- >&- 2>&-"),
            ("audit verify --audit log", ">&- 2>/dev/full"),
            ("audit verify --audit log --json", ">&- 2>&-"),
        ],
    )
    def test_streams_that_are_closed(self, place: Place, command: str, redirect: str) -> None:
        """The output is dropped; the exit code says how it ended."""
        ended = self.start(place, command, redirect=redirect)
        assert (ended.returncode, ended.stdout, ended.stderr) == (ExitCode.OK, "", "")

    def test_a_failure_that_cannot_be_told(self, place: Place) -> None:
        """The exit code stays that of the failure."""
        ended = self.start(place, "run missing --audit audit", redirect="2>/dev/full")
        assert ended.returncode == ExitCode.BAD_USAGE

    @pytest.mark.parametrize("command", ["run - --audit audit", "audit hash - --audit log"])
    def test_standard_input_without_an_end(self, place: Place, command: str) -> None:
        """It is read up to a bound."""
        ended = self.start(place, command, redirect="</dev/zero")
        assert ended.returncode in (ExitCode.CODE_FAILED, ExitCode.BAD_USAGE)
        check_rule(ended.returncode, ended.stdout, ended.stderr)

    def test_a_policy_with_the_longest_paths(self, place: Place) -> None:
        """Within the memory that every command has."""
        paths = [f"/d{index}" + "/a" * 1500 for index in range(256)]
        document = {**POLICY, "scopes": {"files": {"allowlist": paths}}}
        (place.directory / "long.json").write_text(json.dumps(document))
        ended = self.start(place, "policy lint long.json --json")
        assert (ended.returncode, ended.stderr) == (ExitCode.FOUND, "")
