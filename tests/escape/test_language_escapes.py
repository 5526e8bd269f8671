"""Ways out of the restricted language, each tried for real: a test fails when its attack works.

Every file in `language/` is one attack; `loot.py` says what it has at hand and how it tells that it
worked; a last expression that is true tells it, too. It is stopped only if it ends as its marks
say, so that a misspelt one fails:

- `# stopped: refused`, before its first line runs; `raises ...`, with that class of error;
  `harmless`, at its end; `limited`, by a limit; `lost`, with its process; `... or ...` where
  that depends on the version of Python;
- `# because: ...`, what the refusal or the error says; several where that depends on the version;
- `# where: worker`, that it would harm the process of the tests.

Each runs twice: with the language layer alone, and in a worker with every layer in force.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from caps import Runtime
from caps.capabilities.runtime.result import ExecutionResult
from caps.worker.host.zygote import launch
from caps.worker.host.zygote.source import ZygoteSource
from caps.worker.inside.errors.report import message_of
from caps.worker.inside.language.compiler import SourceError
from escape.attacks import Attack, attacks_on, harmless, limited, locked_down, lost
from escape.loot import WORKED, judged_names
from support.language_programs import power_of, run

ATTACKS = attacks_on("language")
ZYGOTE = (sys.executable, "-I", str(Path(__file__).parent / "judging_zygote.py"))
RETURN = "if not take:\n    return\n"
ENDINGS = {"harmless": harmless, "limited": limited, "lost": lost}


@dataclass(frozen=True, slots=True)
class End:
    """How an attack ended, as a value of the mark `stopped`, and the message."""

    stopped: str
    said: str


def here(attack: Attack) -> tuple[End, str]:
    """Run it in this process; its end, and what was written."""
    written: list[str] = []
    try:
        ran = run(attack.source, judged_names(written.append))
    except SourceError as error:
        end = End("refused", str(error))
    except BaseException as error:
        end = End(f"raises {type(error).__name__}", _whole_message(error))
    else:
        end = End("harmless", "")
        written.append(f"{WORKED}{ran.value!r}" if ran.value else "")
    return end, "".join(written)


def _whole_message(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return " ".join([str(error), *map(_whole_message, error.exceptions)])
    return message_of(error)


def end_of(result: ExecutionResult) -> End:
    """The same for an execution in a worker."""
    for stopped, shows in ENDINGS.items():
        if shows(result):
            return End(stopped, "")
    assert result.error is not None, f"{WORKED}{result.value!r}"
    said = f"{result.error.message}\n{result.error.traceback}"
    if result.error.code == SourceError.code:
        return End("refused" if not result.started else "refused too late", said)
    return End(f"raises {result.error.type}", said)


def stops(attack: Attack) -> list[str]:
    """The ends that its marks allow."""
    return (attack.mark("stopped") or "").split(" or ")


def assert_stopped(attack: Attack, end: End, written: str) -> None:
    assert WORKED not in written
    assert end.stopped in stops(attack), f"{end.stopped}: {end.said}"
    assert any(reason in end.said for reason in attack.marks_of("because") or [""]), end.said


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """Workers with every layer, and the judge in them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "ZYGOTE_COMMAND", ZYGOTE)
        with locked_down(ZygoteSource()) as runtime:
            yield runtime


# A program that returns is compiled as a function, which must open nothing.
@pytest.mark.parametrize("before", ["", RETURN], ids=["module", "function"])
@pytest.mark.parametrize(
    "attack", [attack for attack in ATTACKS if attack.mark("where") is None], ids=str
)
def test_the_way_out_is_closed(attack: Attack, before: str) -> None:
    """The attack gets nothing, and is stopped as it is meant to be, by the language alone."""
    assert_stopped(attack, *here(replace(attack, source=before + attack.source)))


@pytest.mark.process
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_the_way_out_is_closed_in_a_worker(runtime: Runtime, attack: Attack) -> None:
    """The same in a confined worker; however that ends, the host gets a clean result."""
    result = runtime.run_sync(attack.source)
    assert_stopped(attack, end_of(result), result.stdout)


def test_every_attack_says_what_it_tries_and_how_it_must_end() -> None:
    """There are many, each has a docstring, and each mark is a known one."""
    assert len(ATTACKS) >= 800
    for attack in ATTACKS:
        assert attack.tries, attack
        assert attack.marks <= {"stopped", "because", "where"}, attack
        assert attack.mark("where") in (None, "worker"), attack
        for stopped in stops(attack):
            assert re.fullmatch(rf"refused|raises \w+|{'|'.join(ENDINGS)}", stopped), attack
        says_why = not set(ENDINGS).intersection(stops(attack))
        assert says_why == bool(attack.mark("because")), attack


@pytest.mark.parametrize(
    "value",
    [pytest, (lambda: 0).__code__, type, eval, {"__builtins__": 1}, "{}".format, str.format],
)
def test_loot_is_known_when_it_is_seen(value: Any) -> None:
    """The judge knows what must not be had, also inside a list."""
    assert power_of(value) is not None
    written: list[str] = []
    judged_names(written.append)["take"]([1, value])
    assert "".join(written).startswith(WORKED)


@pytest.mark.parametrize("program", ["escaped()", "take(loot)", "1 == 1"])
def test_an_attack_that_works_fails_its_test(program: str) -> None:
    """What an attack did is seen, also if it then ends as it should."""
    attack = Attack("none", "works", Path(), f"# stopped: harmless\n{program}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("support.language_programs.make_globals", _open_globals)
        with pytest.raises(AssertionError, match=WORKED):
            assert_stopped(attack, *here(attack))


def _open_globals(
    _loop: Any, _printed: Any, names: dict[str, Any], _program: Any
) -> dict[str, Any]:
    return {**names, "loot": builtins, "__builtins__": vars(builtins)}


@pytest.mark.process
def test_an_attack_that_works_is_seen_from_the_host(runtime: Runtime) -> None:
    """The judge is available in the worker, and its verdict reaches the host."""
    assert WORKED in runtime.run_sync("escaped()").stdout
