"""`pip install` of a package is enough: its capability is listed, resolved and run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CAPS = Path(sys.executable).with_name("caps")
MODULE = '''
from caps import Capability, CapabilityRegistry, ToolDescriptor


class Moon(Capability):
    key = "moon"
    name = "Moon"
    icon = "moon"
    category = "Sky"
    tools = (ToolDescriptor("phase", "Phase", "The phase of the moon."),)


def register(registry: CapabilityRegistry) -> None:
    @registry.capability("moon.phase")
    async def phase() -> str:
        """The phase of the moon."""
        return "full"

    registry.register(Moon)
'''
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which pip installed the wheel of a package, without network."""
    folder = tmp_path_factory.mktemp("plugin")
    wheel = folder / "caps_moon-1.0-py3-none-any.whl"
    metadata = "caps_moon-1.0.dist-info"
    contents = {
        "caps_moon.py": MODULE,
        f"{metadata}/METADATA": "Metadata-Version: 2.1\nName: caps-moon\nVersion: 1.0\n",
        f"{metadata}/WHEEL": WHEEL,
        f"{metadata}/entry_points.txt": "[caps.capabilities]\nmoon = caps_moon:register\n",
    }
    record = "".join(f"{name},,\n" for name in [*contents, f"{metadata}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in {**contents, f"{metadata}/RECORD": record}.items():
            archive.writestr(name, content)
    target = folder / "site"
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet"]
    options = ["--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*command, *options, str(wheel)], check=True)
    return target


def caps(
    *args: str, path: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """`caps` as a user starts it, with `path` among the places of installed packages."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("CAPS_")}
    where = {} if path is None else {"PYTHONPATH": str(path)}
    return subprocess.run(
        [str(CAPS), *args],
        capture_output=True,
        text=True,
        check=False,
        env={**kept, **where, **variables},
    )


def test_the_capability_of_an_installed_package_is_listed(installed: Path) -> None:
    """Next to the built-in ones, and not without the package."""
    document = json.loads(caps("capabilities", "--json", path=installed).stdout)
    (moon,) = [item for item in document["items"] if item["id"] == "moon"]
    assert (moon["name"], moon["status"], moon["icon"], moon["category"]) == (
        "Moon",
        "available",
        "moon",
        "Sky",
    )
    shown = json.loads(caps("capabilities", "moon", "--json", path=installed).stdout)
    assert [tool["key"] for tool in shown["tools"]] == ["phase"]
    without = json.loads(caps("capabilities", "--json").stdout)
    assert document["total"] == without["total"] + 1


def test_an_agent_that_is_given_it_uses_it(installed: Path, tmp_path: Path) -> None:
    """From the object to the policy to the call."""
    script = (
        "from caps import MemoryAuditLog, Runtime, builtin_registry\n"
        "registry = builtin_registry()\n"
        "policy = registry.resolve({'moon': {'tools': ['phase']}}).policy\n"
        "with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:\n"
        "    print(runtime.run_sync('await caps.moon.phase()').unwrap())\n"
    )
    (tmp_path / "agent.py").write_text(script)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "agent.py")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )
    assert done.stdout == "full\n"


class TestBroken:
    """A package that is installed and cannot be loaded."""

    @pytest.fixture
    def broken(self, installed: Path, tmp_path: Path) -> Path:
        """The same package with a module that fails."""
        shutil.copytree(installed, tmp_path, dirs_exist_ok=True)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        (tmp_path / "caps_moon.py").write_text("import no_such_library")
        return tmp_path

    def test_a_command_refuses_in_one_line(self, broken: Path) -> None:
        """It names the package, and the variable that leaves it out."""
        done = caps("functions", path=broken)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "caps: capability `moon` of package `caps-moon` cannot be loaded: "
            "`ModuleNotFoundError`: No module named 'no_such_library'; CAPS_PLUGINS=skip goes on "
            "without it\n"
        )

    def test_it_is_skipped_on_request_and_named(self, broken: Path) -> None:
        """On standard error; the output is as without it."""
        done = caps("functions", path=broken, CAPS_PLUGINS="skip")
        assert (done.returncode, done.stdout) == (0, caps("functions").stdout)
        assert done.stderr.startswith("capability `moon` of package `caps-moon` cannot be loaded")
        assert done.stderr.endswith("it is skipped\n")

    def test_it_is_not_loaded_if_packages_are_off(self, broken: Path) -> None:
        """Nor named."""
        done = caps("functions", path=broken, CAPS_PLUGINS="off")
        assert (done.returncode, done.stderr) == (0, "")

    def test_a_value_that_is_none_is_bad_usage(self) -> None:
        """For every command that reads it."""
        done = caps("functions", CAPS_PLUGINS="on")
        assert (done.returncode, done.stdout) == (2, "")
        said = "caps: CAPS_PLUGINS is `on`; set one of `refuse`, `skip`, `off`\n"
        assert done.stderr == said
