"""(1) Labels and flow rules: what a policy can say, and what is wrong with it otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from caps.protocol.errors import PolicyInvalidError
from caps.security.policies.flow_rules import (
    FlowRule,
    checked_label,
    checked_mark,
    given_labels,
    labels_in,
    marks_after,
    marks_of,
)
from caps.security.policies.load import load_policy
from caps.security.policy import SecurityPolicy

RULE: dict[str, Any] = {"id": "f", "after": ["private"], "deny": ["egress"]}


class Labelled:
    def __init__(self, *labels: str) -> None:
        self.labels = frozenset(labels)


def refusal(**policy: Any) -> tuple[str, str]:
    """What is wrong with a policy, and where."""
    with pytest.raises(PolicyInvalidError) as caught:
        load_policy(policy)
    problem = caught.value.details["problems"][0]
    return problem["what"], problem["place"]


@pytest.mark.parametrize("word", ["private", "a", "a-b_c9", "x" * 32])
def test_a_label_is_a_short_lowercase_word(word: str) -> None:
    """The words of the operator, too."""
    assert checked_label(word) == word
    assert checked_mark(word) == word


@pytest.mark.parametrize(
    "word", ["", "A", "9a", "-a", "a b", "a.b", "ä", "x" * 33, "egress", "a\n"]
)
def test_anything_else_is_not_a_label(word: str) -> None:
    """A dot would make it a function, and `egress` stands for functions."""
    with pytest.raises(ValueError, match="is not a label"):
        checked_label(word)


@pytest.mark.parametrize(
    ("rule", "what", "place"),
    [
        ({**RULE, "after": []}, "at least 1", "flows[0].after"),
        ({**RULE, "after": ["Private"]}, "`Private` is not a label", "flows[0].after[0]"),
        ({**RULE, "after": ["egress"]}, "`egress` is not a label", "flows[0].after[0]"),
        ({**RULE, "after": ["files.re*"]}, "is not a rule", "flows[0].after[0]"),
        ({**RULE, "deny": ["private"]}, "is not a rule", "flows[0].deny[0]"),
        ({**RULE, "deny": []}, "either `deny` or `approve`", "flows[0]"),
        ({**RULE, "approve": ["egress"]}, "either `deny` or `approve`", "flows[0]"),
        ({"after": ["private"], "deny": ["egress"]}, "missing key", "flows[0].id"),
        ({**RULE, "id": "a b"}, "letters, digits", "flows[0].id"),
        ({**RULE, "aprove": []}, "did you mean `approve`?", "flows[0].aprove"),
        ("no-exfiltration", "should be an object", "flows[0]"),
    ],
)
def test_a_rule_that_is_wrong_is_named_with_its_place(rule: Any, what: str, place: str) -> None:
    """And with the key that was probably meant."""
    found, where = refusal(flows=[rule])
    assert what in found
    assert where == place


def test_an_id_is_used_once() -> None:
    """Decisions name rules by it."""
    what, place = refusal(flows=[RULE, {**RULE, "id": "g"}, RULE])
    assert what == "the id `f` is used twice, by flows[0] and flows[2]"
    assert place == "flows"


def test_labels_of_a_policy_are_checked() -> None:
    """Their words, and what they are given to."""
    assert refusal(labels={"mail": ["private"]})[1] == "labels.mail"
    assert refusal(labels={"mail.read": ["No"]})[1] == 'labels["mail.read"][0]'
    policy = SecurityPolicy(labels={"mail.read": ("b", "a", "b"), "mail.*": ("c",)})
    assert policy.labels_of("mail.read") == {"a", "b", "c"}
    assert policy.labels_of("mail.send") == {"c"}
    assert policy.labels_of("web.fetch") == frozenset()


def test_new_keys_do_not_change_the_digest_of_a_policy_without_them() -> None:
    """Logs hold digests of policies that were written before there were flows."""
    test = {"call": "files.read", "payload": {}, "expect": "deny"}
    policy = SecurityPolicy.model_validate(
        {"id": "reader", "allow": ["files.read"], "tests": [test]}
    )
    assert policy.sha256 == "0731398da808bb23911c3fb5c00d097bd164f3629a0baa532ee203877bfdac25"
    others: list[dict[str, Any]] = [
        {"flows": [RULE]},
        {"labels": {"files.read": ["private"]}},
        {"tests": [{**test, "after": ["private"]}]},
    ]
    digests = {policy.model_copy(update=each).sha256 for each in others}
    assert len(digests | {policy.sha256}) == 4


def test_a_rule_covers_functions_domains_and_egress() -> None:
    """`egress` means what the specification says."""

    def covers(targets: list[str], name: str = "mail.send", *, egress: bool = False) -> bool:
        rule = FlowRule.model_validate({**RULE, "deny": targets})
        return rule.covers(name, egress=egress)

    assert covers(["mail.send"])
    assert covers(["web.get", "mail.*"])
    assert not covers(["mail.read", "web.*"])
    assert covers(["egress"], egress=True)
    assert not covers(["egress"])
    assert not covers(["web.*"], egress=True)


def test_marks_are_labels_functions_and_domains() -> None:
    """What a channel was answered, as one set."""
    assert marks_of("mail.read") == {"mail.read", "mail.*"}
    assert labels_in(frozenset({"mail.read", "mail.*", "b", "a"})) == ("a", "b")
    terms = {"mail.read": Labelled("private"), "web.get": Labelled()}
    answered = marks_after(terms, ["mail.read", "mine", "web.get"])
    assert answered == {"mail.read", "mail.*", "private", "mine", "web.get", "web.*"}


@pytest.mark.parametrize("found", ["private", ["private"], {"private"}, None, frozenset({"No"})])
def test_what_is_not_a_set_of_labels_is_an_error(found: object) -> None:
    """A string would be taken for its letters."""
    with pytest.raises(ValueError, match="label"):
        given_labels(found)
