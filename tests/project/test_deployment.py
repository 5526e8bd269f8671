"""The files in `ops/` for running the service: each is valid, and fits the code as it is.

The seccomp profile and the system calls of the unit are tried with the real sandbox under them.
"""

from __future__ import annotations

import ipaddress
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pyseccomp
import pytest
import yaml

from caps.protocol.environment import Variable
from support.commands import CAPS
from support.dockerfile import read_dockerfile

ROOT = Path(__file__).parents[2]
OPS = ROOT / "ops"
UNIT = OPS / "caps.service"
PROFILE = json.loads((OPS / "seccomp.json").read_text())
COMPOSE = yaml.safe_load((OPS / "compose.yml").read_text())
VARIABLES = {variable.key for variable in Variable}
OF_THE_SANDBOX = "the sandbox: namespaces and an empty root, entered once by the zygote"


def unit_settings() -> list[tuple[str, str, str]]:
    """Section, key and value of each line of the unit."""
    found, section = [], ""
    for line in UNIT.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.append((section, key, value))
    return found


def values(key: str) -> list[str]:
    return [value for _, name, value in unit_settings() if name == key]


def layers_under(profile: dict[str, Any], place: Path) -> dict[str, str]:
    """How far each layer of a real sandbox is in force under this profile."""
    file = place / "profile.json"
    file.write_text(json.dumps(profile))
    command = [sys.executable, "-m", "support.seccomp_profile", str(file), str(CAPS), "doctor"]
    done = subprocess.run(
        [*command, "--json"],
        capture_output=True,
        text=True,
        cwd=ROOT / "tests",
        timeout=120,
        check=False,
    )
    assert done.stdout, done.stderr
    return {each["name"]: each["enforcement"] for each in json.loads(done.stdout)["layers"]}


class TestSeccomp:
    def test_the_profile_is_one_for_container_engines(self) -> None:
        """Known keys and actions, and each system call once."""
        assert set(PROFILE) == {"defaultAction", "defaultErrnoRet", "architectures", "syscalls"}
        assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"
        for rule in PROFILE["syscalls"]:
            assert set(rule) <= {"comment", "names", "action", "args", "errnoRet"}
            assert rule["action"] in {"SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"}
        names = Counter(name for rule in PROFILE["syscalls"] for name in rule["names"])
        assert [name for name, count in names.items() if count > 1] == []

    def test_every_name_is_one_of_a_system_call(self) -> None:
        """A misspelt one would allow nothing. libseccomp may be older than the newest calls."""
        unknown = {
            name
            for rule in PROFILE["syscalls"]
            for name in rule["names"]
            if pyseccomp.resolve_syscall(pyseccomp.Arch.X86_64, name) == -1
        }
        assert unknown <= {"fchmodat2"}

    @pytest.mark.process
    def test_the_sandbox_is_fully_in_force_under_it(self, tmp_path: Path) -> None:
        """The real zygote and a real worker."""
        assert set(layers_under(PROFILE, tmp_path).values()) == {"fully"}

    @pytest.mark.process
    def test_the_sandbox_needs_what_the_profile_adds(self, tmp_path: Path) -> None:
        """So the test above can fail."""
        rules = [rule for rule in PROFILE["syscalls"] if rule.get("comment") != OF_THE_SANDBOX]
        assert len(rules) == len(PROFILE["syscalls"]) - 1
        layers = layers_under({**PROFILE, "syscalls": rules}, tmp_path)
        assert (layers["namespaces"], layers["root"]) == ("not", "not")


@pytest.mark.process
def test_the_policy_can_be_used_wherever_it_lies(tmp_path: Path) -> None:
    """It is copied to `/etc/caps`, so it names no place that is relative to it."""
    copy = shutil.copy(OPS / "policy.json", tmp_path)
    for action in ("validate", "test", "lint"):
        done = subprocess.run(
            [CAPS, "policy", action, copy], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


class TestUnit:
    def test_it_hands_the_service_what_it_reads(self) -> None:
        """Variables that exist, and a command that does."""
        for value in values("Environment"):
            assert value.partition("=")[0] in VARIABLES | {"XDG_STATE_HOME"}
        (command,) = values("ExecStart")
        program, *arguments = shlex.split(command)
        assert program == "/opt/caps/bin/caps"
        from caps.cli.commands.serve import serve

        options = {option for each in serve.params for option in each.opts}
        assert arguments[0] == "serve"
        assert {each for each in arguments if each.startswith("--")} <= options
        host = arguments[arguments.index("--host") + 1]
        assert ipaddress.ip_address(host).is_loopback

    def test_it_allows_the_namespaces_that_the_zygote_enters(self) -> None:
        """All of them, and no others; and the groups of workers are delegated."""
        from caps.worker.inside.confinement.layers import _NAMESPACES

        short = {"mount": "mnt"}
        entered = {"user", *(short.get(name, name) for name in _NAMESPACES)}
        assert set(values("RestrictNamespaces")[0].split()) == entered
        assert (values("Delegate"), len(values("DelegateSubgroup"))) == (["memory"], 1)
        assert values("ProtectControlGroups") == ["no"]

    @pytest.mark.process
    @pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
    def test_systemd_accepts_it(self, tmp_path: Path) -> None:
        """Except for the program, which is not installed, and what an older systemd lacks."""
        shutil.copy(UNIT, tmp_path)
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(tmp_path / UNIT.name)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        complaints = [line for line in done.stderr.splitlines() if UNIT.name in line]
        expected = re.compile(r"Unknown key.*'?DelegateSubgroup|is not executable")
        assert [line for line in complaints if not expected.search(line)] == []
        assert any("is not executable" in line for line in complaints)

    @pytest.mark.process
    @pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
    def test_the_sandbox_is_fully_in_force_under_its_system_calls(self, tmp_path: Path) -> None:
        """As systemd expands their groups."""
        names = {name for value in values("SystemCallFilter") for name in value.split()}
        rule = {"names": sorted(expanded(names)), "action": "SCMP_ACT_ALLOW"}
        profile = {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 1, "syscalls": [rule]}
        assert set(layers_under(profile, tmp_path).values()) == {"fully"}


def expanded(names: set[str]) -> set[str]:
    """The system calls of these names and groups."""
    found = {name for name in names if not name.startswith("@")}
    for group in names - found:
        done = subprocess.run(
            ["systemd-analyze", "syscall-filter", group],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        lines = {line.strip() for line in done.stdout.splitlines()[1:]}
        found |= expanded({line for line in lines if line and not line.startswith("#")})
    return found


def test_the_kernel_settings_exist() -> None:
    """Those that only some kernels have are marked, so that the others do not fail on them."""
    text = (OPS / "99-caps.conf").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for line in lines:
        key, _, value = line.partition(" = ")
        assert value.isdecimal()
        path = Path("/proc/sys", *key.removeprefix("-").split("."))
        assert key.startswith("-") or path.is_file()


class TestDockerfile:
    instructions = read_dockerfile((OPS / "Dockerfile").read_text())

    def named(self, name: str) -> list[str]:
        return [each.value for each in self.instructions if each.name == name]

    @pytest.mark.parametrize("text", ["RUNN x", "FROM x\nRUN a \\", "RUN x", "FROM", ""])
    def test_what_is_not_one_is_refused(self, text: str) -> None:
        """So that reading it says something."""
        with pytest.raises(ValueError, match=r"instruction|goes on|begins"):
            read_dockerfile(text)

    def test_what_it_copies_exists_and_is_sent(self) -> None:
        """From the checkout, past the ignore file, or from a stage that is named before."""
        stages = {value.split()[-1] for value in self.named("FROM") if " AS " in value}
        sent = (OPS / "Dockerfile.dockerignore").read_text().splitlines()
        for value in self.named("COPY"):
            first, *rest = value.split()
            if first.startswith("--from="):
                assert first.removeprefix("--from=") in stages
                continue
            for source in [first, *rest[:-1]]:
                assert (ROOT / source).exists(), source
                assert f"!{source}" in sent

    def test_it_installs_extras_on_a_supported_python(self) -> None:
        """The image and the extras are those of the project."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        versions = [each.rpartition(" ")[2] for each in project["classifiers"] if ":: 3." in each]
        for image in self.named("FROM"):
            assert re.fullmatch(r"python:(3\.\d+)-slim-bookworm( AS build)?", image)
            assert image.partition(":")[2].partition("-")[0] in versions
        (extras,) = re.findall(r"'\.\[([a-z,]+)\]'", " ".join(self.named("RUN")))
        assert set(extras.split(",")) <= set(project["optional-dependencies"])

    def test_it_runs_as_a_user_without_rights_and_without_a_shell(self) -> None:
        """And sets only variables that exist."""
        assert self.named("USER") == ["10001:10001"]
        for command in (*self.named("ENTRYPOINT"), *self.named("CMD")):
            assert isinstance(json.loads(command), list)
        keys = {pair.partition("=")[0] for each in self.named("ENV") for pair in each.split()}
        assert keys <= VARIABLES | {"PATH", "XDG_STATE_HOME"}


TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
# What the file uses of the Compose specification, and nothing else.
SERVICE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "build": {
            "type": "object",
            "additionalProperties": False,
            "required": ["context"],
            "properties": {"context": {"type": "string"}, "dockerfile": {"type": "string"}},
        },
        "image": {"type": "string", "pattern": r"^[a-z/.-]+:[a-z0-9.-]+$"},
        "depends_on": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"condition": {"enum": ["service_healthy", "service_started"]}},
            },
        },
        "environment": {"type": "object", "additionalProperties": {"type": "string"}},
        "secrets": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["source", "target"],
                        "properties": {"source": {"type": "string"}, "target": {"type": "string"}},
                    },
                ]
            },
        },
        "healthcheck": {
            "type": "object",
            "additionalProperties": False,
            "required": ["test"],
            "properties": {
                "test": TEXTS,
                "interval": {"type": "string"},
                "timeout": {"type": "string"},
                "retries": {"type": "integer"},
            },
        },
        "ports": TEXTS,
        "volumes": TEXTS,
        "tmpfs": TEXTS,
        "cap_drop": TEXTS,
        "security_opt": TEXTS,
        "hostname": {"type": "string"},
        "read_only": {"type": "boolean"},
        "pids_limit": {"type": "integer"},
        "stop_grace_period": {"type": "string", "pattern": "^[0-9]+s$"},
        "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
    },
}
COMPOSE_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["services"],
    "properties": {
        "name": {"type": "string"},
        "services": {"type": "object", "additionalProperties": SERVICE},
        "secrets": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["file"],
                "properties": {"file": {"type": "string"}},
            },
        },
        "volumes": {"type": "object", "additionalProperties": {"type": "null"}},
    },
}


class TestCompose:
    def test_it_has_the_form_of_the_specification(self) -> None:
        """The part of it that is used here."""
        jsonschema_rs.validate(COMPOSE_SCHEMA, COMPOSE)

    def test_whatever_it_names_is_defined(self) -> None:
        """Secrets, volumes, services, files and variables."""
        services = COMPOSE["services"]
        for service in services.values():
            for secret in service.get("secrets", ()):
                name = secret if isinstance(secret, str) else secret["source"]
                assert name in COMPOSE["secrets"]
            for volume in service.get("volumes", ()):
                source = volume.partition(":")[0]
                assert source in COMPOSE["volumes"] or (OPS / source).exists()
            assert set(service.get("depends_on", ())) <= set(services)
        caps = services["caps"]
        assert (OPS / caps["build"]["context"] / caps["build"]["dockerfile"]).is_file()
        assert {key for key in caps["environment"] if key.startswith("CAPS_")} <= VARIABLES
        (seccomp,) = [each for each in caps["security_opt"] if each.startswith("seccomp:")]
        assert (OPS / seccomp.partition(":")[2]).is_file()

    def test_it_serves_this_host_only_and_takes_rights_away(self) -> None:
        """TLS belongs in front of it."""
        caps = COMPOSE["services"]["caps"]
        assert all(port.startswith("127.0.0.1:") for port in caps["ports"])
        assert caps["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in caps["security_opt"]
        assert "privileged" not in caps

    def test_its_time_to_stop_is_longer_than_the_service_drains(self) -> None:
        """Otherwise executions are killed that were promised time."""
        from caps.service.serve import DRAIN_SECONDS

        grace = COMPOSE["services"]["caps"]["stop_grace_period"]
        assert int(grace.removesuffix("s")) > DRAIN_SECONDS
        assert float(values("TimeoutStopSec")[0]) > DRAIN_SECONDS
