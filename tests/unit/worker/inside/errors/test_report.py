"""An error report says what a person needs, and no error can break it."""

from __future__ import annotations

from textwrap import dedent

import msgspec
import pytest

from caps.protocol.errors import ExecutionError, LimitExceededError
from caps.protocol.framing import check_json_like
from caps.protocol.messages import ErrorReport
from caps.worker.inside.aio.loop import CancelledError
from caps.worker.inside.errors import report as report_module
from caps.worker.inside.errors.report import describe, describe_source
from caps.worker.inside.language.compiler import SourceError, compile_source
from support.language_programs import run_program


def report_of(source: str) -> ErrorReport:
    """Run a program that fails; the report of its error, as it crosses to the host."""
    try:
        program = compile_source(dedent(source))
    except SourceError as error:
        return crossed(describe_source(error, "<agent>", source))
    try:
        run_program(program)
    except BaseException as error:
        return crossed(describe(error, {program.filename: program}))
    raise AssertionError("the program did not fail")


def crossed(report: ErrorReport) -> ErrorReport:
    """The report after its way through the channel."""
    check_json_like(msgspec.to_builtins(report))
    return msgspec.msgpack.decode(msgspec.msgpack.encode(report), type=ErrorReport)


def test_the_users_line_and_caret_are_shown() -> None:
    """Line, columns and source are those of the expression that failed."""
    report = report_of("x = 0\ny = 1 + (2 / x)\n")
    assert (report.type, report.message) == ("ZeroDivisionError", "division by zero")
    assert (report.line, report.column, report.end_column) == (2, 9, 14)
    assert report.source_line == "y = 1 + (2 / x)"
    assert report.traceback == (
        "Traceback (most recent call last):\n"
        '  File "<agent>", line 2, in <module>\n'
        "    y = 1 + (2 / x)\n"
        "             ^^^^^\n"
        "ZeroDivisionError: division by zero\n"
    )


def test_columns_count_characters() -> None:
    """Letters outside ASCII before the expression do not shift the carets."""
    report = report_of("x = 0\ny = 'äöü', 2 / x\n")
    assert (report.column, report.end_column) == (11, 16)
    assert f"    y = 'äöü', 2 / x\n    {' ' * 11}^^^^^\n" in report.traceback


def test_tabs_stay_tabs_in_front_of_the_carets() -> None:
    """The carets stand under the expression however wide a tab is shown."""
    report = report_of("x = 0\nif 1:\n\ty =\t2 / x\n")
    assert "    y =\t2 / x\n       \t^^^^^\n" in report.traceback


def test_only_frames_of_the_user_are_shown() -> None:
    """Neither the library between the user's functions nor the guards appear."""
    report = report_of(
        """
        import functools
        def inner(a, b):
            return a.missing
        def outer():
            return functools.reduce(inner, [1, 2])
        getattr(outer(), "x")
        """
    )
    assert [(frame.function, frame.line) for frame in report.frames] == [
        ("<module>", 7),
        ("outer", 6),
        ("inner", 4),
    ]
    assert report.frames[2].source == "return a.missing"
    assert "site-packages" not in report.traceback
    assert ".py" not in report.traceback


def test_an_error_raised_inside_a_library_points_at_the_users_call() -> None:
    """The last frame that is the user's gives the line."""
    report = report_of("import json\n\njson.loads('{')\n")
    assert (report.type, report.line, report.source_line) == (
        "JSONDecodeError",
        3,
        "json.loads('{')",
    )
    assert ".py" not in report.traceback


def test_a_deep_recursion_is_folded() -> None:
    """A thousand equal frames are one line that says how many."""
    report = report_of("def f(n):\n    return f(n + 1)\nf(0)\n")
    assert report.type == "RecursionError"
    assert "more times]" in report.traceback
    assert report.traceback.count("in f\n") < 5
    assert len(report.frames) == 40


def test_the_chain_of_causes_is_reported_causes_first() -> None:
    """Causes and contexts are linked as Python links them."""
    report = report_of(
        """
        try:
            try:
                1 / 0
            except ZeroDivisionError as e:
                raise KeyError("k") from e
        except KeyError:
            raise ValueError("last")
        """
    )
    first, second, third = (
        report.traceback.index(name) for name in ("ZeroDivisionError:", "KeyError:", "ValueError:")
    )
    assert first < second < third
    assert report.traceback.count("was the direct cause of") == 1
    assert report.traceback.count("During handling of") == 1


def test_from_none_hides_the_context() -> None:
    """What the user hid stays hidden."""
    report = report_of("try:\n    1 / 0\nexcept Exception:\n    raise ValueError('x') from None")
    assert "ZeroDivisionError" not in report.traceback


def test_a_chain_without_end_is_bounded() -> None:
    """Twenty causes, or causes in a ring, do not make a report without end."""
    report = report_of(
        """
        error = None
        for n in range(20):
            try:
                raise ValueError(str(n)) from error
            except ValueError as e:
                error = e
        raise error
        """
    )
    assert report.traceback.count("ValueError: ") == 8


def test_groups_and_notes_are_shown() -> None:
    """Members of a group are listed, and notes stand under the message."""
    report = report_of(
        """
        e = ExceptionGroup("many", [ValueError("one"), TypeError("two")])
        e.add_note("look here")
        raise e
        """
    )
    assert "ExceptionGroup: many (2 sub-exceptions)\nlook here\n" in report.traceback
    assert "  [1] ValueError: one\n  [2] TypeError: two\n" in report.traceback


def test_a_syntax_error_shows_the_line_and_a_caret() -> None:
    """The caret stands where Python's own would."""
    report = report_of("x = 1\nif x:\n    y = (1 2)\n")
    assert (report.type, report.code, report.line) == ("SyntaxError", "source_error", 3)
    assert "    y = (1 2)\n         ^^^\n" in report.traceback
    assert report.details["kind"] == "syntax"


def test_a_syntax_error_behind_other_letters_and_tabs_has_its_caret_in_place() -> None:
    """Columns of syntax errors count characters, too."""
    report = report_of("ä =\t'ö' 1\n")
    assert report.column == 8
    assert "    ä =\t'ö' 1\n       \t    ^\n" in report.traceback


def test_a_refusal_lists_its_problems() -> None:
    """All problems are in the details, the first one in the message."""
    report = report_of("a.__code__\nb.gi_code")
    assert (report.type, report.line, report.source_line) == ("SourceError", 1, "a.__code__")
    assert [problem["line"] for problem in report.details["problems"]] == [1, 2]


def test_a_very_long_line_is_cut() -> None:
    """The message is still in the traceback when the line is huge."""
    report = report_of("x = '" + "a" * 100_000 + "'.__closure__")
    assert len(report.traceback) < 2_000
    assert report.traceback.endswith("reaches into the interpreter\n")


def test_a_huge_message_is_bounded() -> None:
    """Ten megabytes of message become eight kilobytes and a count."""
    report = report_of("raise ValueError('x' * 10_000_000)")
    assert report.message.endswith("… (10000000 characters)")
    assert len(report.message) < 9_000
    assert len(report.traceback) < 9_000


def test_lone_surrogates_are_escaped() -> None:
    """Text that cannot be encoded crosses as escapes."""
    report = report_of("raise ValueError('a\\ud800b')")
    assert report.message == "a\\ud800b"


def test_running_out_of_memory_is_a_limit() -> None:
    """A MemoryError is reported as the limit of the policy that it is."""
    report = report_of("raise MemoryError")
    assert (report.code, report.details) == ("limit_exceeded", {"limit": "memory_mb"})


def test_a_cancelled_program_says_so() -> None:
    """Cancellation has its own code."""
    report = crossed(describe(CancelledError(), {}))
    assert (report.code, report.line) == ("cancelled", None)


def test_an_error_of_ours_keeps_its_code_and_details() -> None:
    """The broker's message about a refusal reaches the host unchanged."""
    report = report_of("raise PolicyDeniedError('no', capability='files.read', tries=3, ok=None)")
    assert report.code == "policy_denied"
    assert report.details == {"capability": "files.read", "tries": 3, "ok": None}


def test_code_cannot_change_the_code_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What user code sets on a class has no effect on the report."""
    monkeypatch.setattr(ExecutionError, "code", "set")
    monkeypatch.setattr(LimitExceededError, "code", "set")
    codes = [report_of(f"raise {kind}").code for kind in ("ValueError", "MemoryError")]
    assert codes == ["execution_error", "limit_exceeded"]


@pytest.mark.parametrize("raised", ["ValueError('second')", "SystemExit", "KeyboardInterrupt"])
def test_a_message_that_raises_is_no_way_out(raised: str) -> None:
    """Whatever `__str__` raises, there is a report."""
    report = report_of(f"class E(Exception):\n    def __str__(self): raise {raised}\nraise E\n")
    assert report.type == "E"
    assert report.message.startswith("(its message raised ")


HOSTILE = {
    "a message that is no plain text": (
        "class S(str):\n    def encode(self, *a): return 1\n"
        "    def __getitem__(self, i): return 2\n"
        "class E(Exception):\n    def __str__(self): return S('text')\nraise E"
    ),
    "an error that has no truth": (
        "class E(Exception):\n    def __bool__(self): raise KeyError\n"
        "try:\n    raise E\nexcept E as e:\n    raise ValueError('text') from e"
    ),
    "a note that raises": (
        "class N:\n    def __str__(self): raise SystemExit\n"
        "e = ValueError('text')\ne.add_note('a')\ne.__notes__.append(N())\nraise e"
    ),
    "members that are none": (
        "class G(ExceptionGroup):\n    exceptions = 5\n    def __str__(self): return 'text'\n"
        "raise G('x', [ValueError()])"
    ),
    "details that are none": "e = CapsError('text')\ne.details = 5\nraise e",
    "details that raise": (
        "class E(CapsError):\n    @property\n    def details(self): raise KeyError\n"
        "    @details.setter\n    def details(self, new): pass\nraise E('text')"
    ),
    "details with other names": (
        "class K:\n    def __str__(self): raise SystemExit\n"
        "e = CapsError('text')\ne.details[K()] = 1\ne.details[1] = 2\nraise e"
    ),
    "details of other kinds": (
        "e = CapsError('text', a=object(), b=2 ** 70, c=float('nan'), d={1: 2}, e=b'x')\n"
        "e.details['f'] = [[[[[[[[]]]]]]]]\nraise e"
    ),
    "details that hold themselves": (
        "ring = []\nring.append(ring)\nd = {}\nd['d'] = d\n"
        "raise CapsError('text', a=ring, b=[d], c=d)"
    ),
    "details that are huge": (
        "problem = {'b': 'x' * 10_000_000, 'c': '\\ud800'}\n"
        "raise CapsError('text', **{'k' * 9999: 1}, a=[problem] * 1000)"
    ),
    "a thousand details": "raise CapsError('text', **{f'k{n}': n for n in range(1000)})",
    "a code that is none": "e = CapsError('text')\ne.code = object()\nraise e",
    "a code of its class that is none": (
        "class E(PolicyDeniedError):\n    code = 'x' * 1000\nraise E('text')"
    ),
    "a huge name": f"class {'E' * 9999}(Exception): pass\nraise {'E' * 9999}('text')",
    "a name that is no plain text": (
        "import functools\nclass S(str):\n    def __format__(self, s): raise SystemExit\n"
        "class Named: pass\nnamed = Named()\nfunctools.wraps(named)\n"
        "class E(Exception): pass\nE = functools.wraps(Named)(E)\nraise E('text')"
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_error_breaks_its_report(name: str) -> None:
    """Whatever an error does when it is inspected, its report is plain, bounded and sendable."""
    report = report_of(HOSTILE[name])
    assert report.message == "text"
    assert len(msgspec.msgpack.encode(report)) < 200_000


def test_an_error_that_cannot_be_described_is_still_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker answers with what it knows."""

    def fail(_error: BaseException, _source_line: str) -> None:
        raise RuntimeError

    monkeypatch.setattr(report_module, "hint_for", fail)
    report = report_of("1 / 0")
    assert (report.type, report.code) == ("ZeroDivisionError", "execution_error")
    assert report.message == "the error cannot be described: RuntimeError"


def test_the_code_is_that_of_the_class_of_ours() -> None:
    """User code cannot make its own error look like another kind of failure."""
    report = report_of("class E(PolicyDeniedError):\n    code = 'audit_error'\nraise E('x')")
    assert (report.type, report.code) == ("E", "policy_denied")


def test_frames_of_earlier_cells_show_their_own_lines() -> None:
    """With two programs, each frame is identified by its file."""
    first = compile_source("def f(n):\n    return g(n)", "<cell 1>")
    second = compile_source("def g(n):\n    return n.missing\nf(1)", "<cell 2>")
    names: dict[str, object] = {}
    exec(first.code, names)
    with pytest.raises(AttributeError) as raised:
        exec(second.code, names)
    report = crossed(describe(raised.value, {"<cell 1>": first, second.filename: second}))
    assert [(frame.filename, frame.line, frame.source) for frame in report.frames] == [
        ("<cell 2>", 3, "f(1)"),
        ("<cell 1>", 2, "return g(n)"),
        ("<cell 2>", 2, "return n.missing"),
    ]
    assert (report.filename, report.source_line) == ("<cell 2>", "    return n.missing")
