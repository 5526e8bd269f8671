"""Run CPython's own tests of the library and the language in the sandbox.

Without names it runs all modules whose differences are recorded in `tests/cpython/`, and fails if a
test does not end as recorded. `--record` writes the lists of this Python, starting from the reasons
of other versions.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from caps import MemoryAuditLog, Runtime  # noqa: E402 - the path has to be set first
from support.cpython import differences  # noqa: E402 - the same
from support.cpython.runs import POLICY, Outcome, run_module  # noqa: E402 - the same

_MAX_CHARACTERS = 240


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="for example `test_enum`")
    parser.add_argument("--record", action="store_true", help="write the lists of differences")
    parser.add_argument("--show", action="store_true", help="show every test that differs")
    parser.add_argument("--details", action="store_true", help="the same with tracebacks")
    options = parser.parse_args()
    failed = False
    with Runtime(policy=POLICY, audit=MemoryAuditLog()) as runtime:
        for module in options.modules or _known(record=options.record):
            start = time.perf_counter()
            outcomes = run_module(runtime, module)
            counts = Counter(one.outcome for one in outcomes)
            summary = ", ".join(f"{count} {how}" for how, count in sorted(counts.items()))
            _say(f"{module}: {summary} in {time.perf_counter() - start:.1f} s")
            if options.show or options.details:
                _show(outcomes, details=options.details)
            if options.record:
                for one in differences.record(module, outcomes):
                    failed = True
                    _say(f"  without a reason: {one.test}: {one.outcome}, {_short(one.reason)}")
            elif module in differences.modules():
                for test, problem in differences.problems(module, outcomes).items():
                    failed = True
                    _say(f"  {test}: {_short(problem)}")
    sys.exit(failed)


def _known(*, record: bool) -> list[str]:
    return differences.modules_of_any_version() if record else differences.modules()


def _show(outcomes: list[Outcome], *, details: bool) -> None:
    for one in outcomes:
        if one.is_different:
            _say(f"  {one.test}: {one.outcome}, {_short(one.reason)}")
            if details:
                _say(one.details)


def _short(text: str) -> str:
    return " ".join(text.split())[:_MAX_CHARACTERS]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
