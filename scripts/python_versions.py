"""Whether this Python is supported; `--test` runs `make test` on each supported one that is found.

`make` runs it before anything is installed, on any Python 3: it uses no package, and no new syntax.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def supported():
    """The versions that `requires-python` in pyproject.toml allows, oldest first."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^requires-python = ">=3\.(\d+),<3\.(\d+)"', text, re.MULTILINE)
    if found is None:
        sys.exit("pyproject.toml has no `requires-python` of the form `>=3.x,<3.y`")
    return [(3, minor) for minor in range(int(found.group(1)), int(found.group(2)))]


def shown(version):
    return f"{version[0]}.{version[1]}"


def refusal(version, versions, command):
    """One line about a Python that is not supported; None for one that is."""
    if tuple(version[:2]) in versions:
        return None
    oldest, newest = shown(versions[0]), shown(versions[-1])
    return (
        f"caps needs Python {oldest} to {newest}, and `{command}` is Python {shown(version)}; "
        f"choose another one, for example `make PYTHON=python{newest} run`"
    )


def mismatch(version, venv, command):
    """One line about a `venv` with another version than the Python that was asked for; or None."""
    program = "import sys; print(*sys.version_info[:2])"
    printed = subprocess.check_output([str(Path(venv) / "bin" / "python"), "-c", program])
    found = tuple(map(int, printed.split()))
    if found == tuple(version[:2]):
        return None
    asked = shown(version)
    return (
        f"`{venv}` has Python {shown(found)}, and `{command}` is Python {asked}; remove `{venv}`, "
        f"or add `VENV=.venv-{asked}` to the command"
    )


def find(version):
    """The command of this version: on the path, or the newest one that pyenv has installed."""
    name = f"python{shown(version)}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = pyenv.glob(f"versions/{shown(version)}.*/bin/{name}")
    newest_first = sorted(installed, key=_patch_level, reverse=True)
    candidates = [shutil.which(name), *map(str, newest_first)]
    return next((path for path in candidates if path and _runs(path, version)), None)


def _patch_level(path):
    number = path.parts[-3].rpartition(".")[2]
    return int(number) if number.isdigit() else -1


def _runs(path, version):
    """Whether it starts: pyenv has a command on the path for versions that are not selected."""
    program = f"import sys, venv; print(sys.version_info[:2] == {version!r})"
    ran = subprocess.run(
        [path, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    return ran.stdout.strip() == b"True"


def test_all(versions):
    """Run `make test` on each version, then print a line for each. Returns the exit status."""
    outcomes = {}
    for version in versions:
        name, python = shown(version), find(version)
        if python is None:
            outcomes[name] = "not found"
            continue
        print(f"== Python {name}: {python}", flush=True)
        command = ["make", "test", f"PYTHON={python}", f"VENV=.venv-{name}"]
        outcomes[name] = "failed" if subprocess.call(command, cwd=str(ROOT)) else "passed"
    for name, outcome in outcomes.items():
        print(f"Python {name}: {outcome}")
    return int("failed" in outcomes.values() or "passed" not in outcomes.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", action="store_true", help="run `make test` on each version found")
    parser.add_argument("--venv", help="fail if this virtual environment has another version")
    versions, arguments = supported(), parser.parse_args()
    if arguments.test:
        sys.exit(test_all(versions))
    message = refusal(sys.version_info, versions, sys.executable)
    if message is None and arguments.venv:
        message = mismatch(sys.version_info, arguments.venv, sys.executable)
    sys.exit(message)


if __name__ == "__main__":
    main()
