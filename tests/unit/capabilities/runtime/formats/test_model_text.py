"""The text of a result for the prompt of a model."""

from __future__ import annotations

from typing import Any

import pytest

from caps.capabilities.broker.evidence import DecisionSummary
from caps.capabilities.runtime.result import ExecutionResult, Failure, Resources
from caps.protocol.errors import ConfigurationError
from caps.security.audit.model.records import ExecutionStatus


def result(**fields: Any) -> ExecutionResult:
    """A result with these fields, and nothing else in it."""
    usage = Resources(duration_ms=1.0, calls=0, output_bytes=0, cpu_ms=None, max_rss_kb=None)
    given: dict[str, Any] = {
        "execution_id": "e1",
        "status": ExecutionStatus.OK,
        "started": True,
        "value": None,
        "value_is_repr": False,
        "stdout": "",
        "error": None,
        "usage": usage,
        "decisions": (),
        **fields,
    }
    return ExecutionResult(**given)


def failure(**fields: Any) -> Failure:
    given: dict[str, Any] = {
        "code": "execution_error",
        "type": "KeyError",
        "message": "'a'",
        "details": {},
        **fields,
    }
    return Failure(**given)


def refusal(capability: str, reason: str = "not_allowed") -> DecisionSummary:
    return DecisionSummary(
        request_id="r",
        capability=capability,
        decision="deny",
        reason=reason,
        rule=None,
        message="not allowed",
    )


def test_output_and_value() -> None:
    """Each under its title."""
    assert result(stdout="hello\n", value=[1]).for_model() == "output:\nhello\n\nresult:\n[1]"


def test_nothing_to_show() -> None:
    """A model must not take an empty text for a failure of its tool."""
    assert result().for_model() == "the code ran to its end without a result"


def test_an_error_comes_with_its_traceback_and_hint() -> None:
    """The hint once, also if the traceback has it."""
    error = failure(traceback="Traceback:\nKeyError: 'a'\n", hint="did you mean `b`?")
    text = result(status=ExecutionStatus.CODE_FAILED, error=error).for_model()
    assert text == "error:\nTraceback:\nKeyError: 'a'\nhint: did you mean `b`?"
    error = failure(traceback="KeyError: 'a'; did you mean `b`?", hint="did you mean `b`?")
    assert result(error=error).for_model().count("did you mean") == 1


def test_an_error_without_traceback_has_its_class_and_message() -> None:
    """And the text says if no line ran."""
    text = result(error=failure(), started=False).for_model()
    assert text == "error:\nKeyError: 'a'\n\nno line of the code ran"


def test_refused_calls_are_listed_once() -> None:
    """Also those whose error the code caught; at most twenty."""
    decisions = (refusal("files.write"), refusal("files.write"), refusal("web.fetch"))
    text = result(value=1, decisions=decisions).for_model()
    assert text.endswith("refused:\nfiles.write: not_allowed\nweb.fetch: not_allowed")
    many = tuple(refusal(f"box.f{n}") for n in range(30))
    assert result(decisions=many).for_model().endswith("… and 10 more")


@pytest.mark.parametrize("size", [200, 1000, 20_000])
def test_it_is_bounded(size: int) -> None:
    """The start and the end stay, and the text says how much is missing."""
    long = "a" * 50_000 + "z" * 50_000
    text = result(stdout=long, value=long, error=failure(traceback=long)).for_model(size)
    assert len(text) <= size + 40
    assert "characters left out" in text
    assert text.startswith("output:\na")


def test_a_value_that_was_sent_as_its_repr_is_not_quoted_again() -> None:
    """It is text already."""
    assert result(value="<object>", value_is_repr=True).for_model() == "result:\n<object>"


@pytest.mark.parametrize("size", [0, -1, 199, "9", None])
def test_the_bound_is_an_integer(size: Any) -> None:
    """Nothing useful fits below."""
    with pytest.raises(ConfigurationError, match="max_characters"):
        result().for_model(size)


@pytest.mark.parametrize(
    "advice", ["raise `limits.wall_ms` if it may", "raise `limits.memory_mb` if it may use more"]
)
def test_advice_for_the_host_is_left_out(advice: str) -> None:
    """A model cannot raise a limit."""
    reached = failure(type="LimitExceededError", message=f"the code ran longer than 5 ms; {advice}")
    expected = "error:\nLimitExceededError: the code ran longer than 5 ms"
    assert result(error=reached).for_model() == expected
    in_traceback = failure(traceback=f"MemoryError: out of memory; {advice}\nhint: less\n")
    assert (
        result(error=in_traceback).for_model() == "error:\nMemoryError: out of memory\nhint: less"
    )
