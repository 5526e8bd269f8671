"""Untrusted text in a message cannot break its line or make it long; hints suggest a name."""

from __future__ import annotations

from caps.protocol.text import did_you_mean, escape_unprintable, nearest, printable


def test_what_is_not_printable_is_shown_as_its_escape() -> None:
    """Control characters, bidirectional overrides and lone surrogates; all else stays."""
    assert escape_unprintable("naïve 文") == "naïve 文"
    assert escape_unprintable("a\n\x1b[31m\u202e\ud800") == "a\\n\\x1b[31m\\u202e\\ud800"


def test_what_is_shown_is_bounded() -> None:
    """Escapes count as the characters that they are shown as."""
    assert printable("x" * 200) == "x" * 200
    assert printable("x" * 201) == "x" * 200 + "…"
    assert printable("\n" * 4, 8) == "\\n" * 4
    assert printable("\n" * 5, 8) == "\\n" * 4 + "…"


def test_the_nearest_name_is_suggested() -> None:
    """A typo finds what was meant; nonsense and overlong names find nothing."""
    known = ["files.read", "files.write", "time.now"]
    assert nearest("files.raed", known) == "files.read"
    assert nearest("qqq.zzz", known) is None
    assert nearest("files.read" * 1000, known) is None


def test_the_order_of_the_known_names_does_not_matter() -> None:
    """Equally close names give the same answer in every process."""
    assert nearest("ab", ["ac", "ad"]) == nearest("ab", ["ad", "ac"]) is None
    assert nearest("abc", ["abd", "abe"]) == nearest("abc", ["abe", "abd"]) == "abe"


def test_a_caller_sets_how_close_and_how_long_a_name_may_be() -> None:
    """Closer than by default, or of any length."""
    assert nearest("files.raed", ["files.read"], cutoff=0.95) is None
    assert nearest("x" * 1000, ["x" * 999], max_characters=None) == "x" * 999


def test_the_hint_is_the_end_of_a_message() -> None:
    """It is empty where nothing is close."""
    assert did_you_mean("tiem", ["time"]) == "; did you mean `time`?"
    assert did_you_mean("tiem", ["files"]) == ""
