"""The text of a record is cut out of an example only where that is certain."""

from __future__ import annotations

from caps.security.audit.model.records import (
    MAX_LINE_BYTES,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
)
from caps.security.audit.model.sanitize import encode_event
from caps.security.audit.model.templates import cut_out

ID, NUMBER = "m" * 33, 123456789012345


def ended(**changes: object) -> ExecutionEnded:
    """An example with two marks in its first text."""
    fields = {"execution_id": ID, "principal": "ada", "calls": NUMBER, "output_bytes": 0}
    fields |= {"status": ExecutionStatus.OK, "duration_us": 5, **changes}
    return ExecutionEnded(**fields)  # type: ignore[arg-type]


PLACES = ((NUMBER, ID), (), (), (), ())


def test_the_pieces_are_the_text_around_the_marks() -> None:
    """With other values between them they are the record of another event."""
    pieces = cut_out(ended(), PLACES)
    assert pieces is not None
    first, second, third, *rest = pieces
    whole = (f"{first}7{second}e1{third}", *rest)
    assert whole == encode_event(ended(execution_id="e1", calls=7))


def test_a_mark_that_is_at_another_place_too_cuts_nothing() -> None:
    """Before its place, after it, or in another text: one of them is not what it stands for."""
    for changes in ({"agent": ID}, {"principal": ID}, {"agent": f"a{NUMBER}b"}, {"cpu_us": NUMBER}):
        assert cut_out(ended(**changes), PLACES) is None


def test_a_mark_that_the_encoder_changed_cuts_nothing() -> None:
    """A number beyond the bound is another one in the record."""
    assert cut_out(ended(calls=2**60), ((2**60, ID), (), (), (), ())) is None


def test_where_nothing_stands_an_empty_piece_leads_to_it() -> None:
    """So a record with the field and one without it are put together alike."""
    pieces = cut_out(ended(), (*PLACES[:3], (None, None), ()))
    assert pieces is not None
    assert pieces[-4:-2] == ("", "")
    assert pieces[-2:] == encode_event(ended())[3:]


def test_a_record_that_longer_values_would_make_too_large_is_not_cut_out() -> None:
    """The example has short ones; the encoder refuses the record with those of an execution."""

    def pieces(modules: int) -> object:
        event = ExecutionStarted(
            execution_id=ID,
            principal="ada",
            policy_id="p",
            policy_sha256="0" * 64,
            source_sha256="1" * 64,
            granted=[],
            withheld=[],
            isolation={},
            modules=["x" * 97] * modules,
        )
        return cut_out(event, ((ID,), (), (), (), ()))

    fitting = MAX_LINE_BYTES // 100
    assert pieces(fitting - 30) is None  # it has room for the marks, but not for every session
    assert pieces(fitting - 200) is not None
