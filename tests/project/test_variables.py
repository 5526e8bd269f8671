"""What the documents say about the environment variables is what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from caps import AuditSettings
from caps.agents.sign_in_settings import SignInSettings
from caps.agents.tool_cards.settings import CardSettings
from caps.capabilities.catalogue.entry_points import plugin_mode
from caps.capabilities.runtime.isolation import isolation_mode
from caps.capabilities.runtime.opening.settings import capability_timeout_ms
from caps.protocol.environment import PREFIX, Variable
from caps.worker.host.process.scheduling import may_share_processor

ROOT = Path(__file__).parents[2]


@pytest.mark.process
def test_the_tables_of_the_documents_are_up_to_date() -> None:
    """README.md and docs/audit.md, as `make variables` writes them."""
    script = ROOT / "scripts" / "variable_tables.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_variable_has_the_prefix_and_a_name_of_its_own() -> None:
    """So that a misspelt one is noticed."""
    keys = [variable.key for variable in Variable]
    assert all(key.startswith(PREFIX) for key in keys)
    assert len(set(keys)) == len(keys)


def stated_default(variable: Variable) -> str | None:
    """The documented default value; None if it is not a plain value."""
    found = re.fullmatch(r"`([a-z0-9-]+)`", variable.default)
    return None if found is None else found[1]


STATED = [variable for variable in Variable if stated_default(variable) is not None]


def settings() -> tuple[object, ...]:
    """All that variables with a plain default set."""
    return (
        AuditSettings.from_environment(Path("log")),
        isolation_mode(None),
        capability_timeout_ms(None),
        plugin_mode(None),
        may_share_processor(),
        CardSettings.from_environment(),
        SignInSettings.from_environment(),
    )


@pytest.mark.parametrize("variable", STATED, ids=lambda variable: variable.key)
def test_a_stated_default_is_what_happens_without_the_variable(
    variable: Variable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To set a variable to its default changes nothing; to set it to another value does."""
    for each in Variable:
        monkeypatch.delenv(each.key, raising=False)
    without = settings()
    monkeypatch.setenv(variable.key, stated_default(variable) or "")
    assert settings() == without
    others = {"sync": "os", "full": "best-effort", "refuse": "skip", "0": "1", "off": "refuse"}
    other = (others | {"on": "off"}).get(stated_default(variable) or "", "7")
    monkeypatch.setenv(variable.key, "4096" if variable is Variable.AUDIT_ROTATE_BYTES else other)
    assert settings() != without


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in this process nor in an environment that is passed."""
    monkeypatch.delenv(Variable.CGROUP.key, raising=False)
    assert Variable.CGROUP.read() == Variable.CGROUP.read({}) == ""
    monkeypatch.setenv(Variable.CGROUP.key, "/here")
    assert Variable.CGROUP.read() == "/here"
    assert Variable.CGROUP.read({Variable.CGROUP.key: "/there"}) == "/there"
