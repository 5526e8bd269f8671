"""(1) Policies: what is accepted, what is refused with which message, what the digest covers."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

import jsonschema_rs
import pydantic
import pytest

from caps.protocol.errors import PolicyInvalidError
from caps.security.policies import json_schema
from caps.security.policies.deny_rules import DenyRule
from caps.security.policies.load import MAX_POLICY_BYTES, load_policy, policy_from_json
from caps.security.policies.names import quoted
from caps.security.policy import Limits, Rate, RuleEffect, RuleVerdict, SecurityPolicy

# From Python 3.13 on, the library shows the comma itself and not what follows.
_TRAILING_COMMA = "line 2 column 11" if sys.version_info >= (3, 13) else "line 3 column 1"

POLICIES = Path(__file__).parents[3] / "policies"
EXAMPLES = sorted(p for p in POLICIES.glob("*.json") if p.name != "policy.schema.json")

FULL: dict[str, Any] = {
    "$schema": "./policy.schema.json",
    "version": 1,
    "id": "reader",
    "allow": ["time.*", "files.read", "files.read"],
    "deny": ["files.delete"],
    "approve": ["files.delete"],
    "scopes": {"files": {"allowlist": ["./sandbox"], "read_only": True, "share": 0.5}},
    "limits": {"wall_ms": 5000, "rates": {"web.fetch": "60/min", "web.*": "5/s"}},
    "tests": [{"call": "files.read", "payload": {"path": "/etc/passwd"}, "expect": "deny"}],
}


def refusal(source: Any) -> PolicyInvalidError:
    """The error that `source` is refused with, which must be one line and name its source."""
    with pytest.raises(PolicyInvalidError) as caught:
        if isinstance(source, bytes):
            policy_from_json(source, source="p.json")
        else:
            load_policy(source)
    assert len(caught.value.message.splitlines()) == 1
    assert caught.value.message.startswith(f"policy {quoted(caught.value.source)}: ")
    return caught.value


class TestModel:
    def test_the_empty_policy_allows_nothing_and_is_bounded(self) -> None:
        """The defaults: an empty list of rules and a finite value for every limit."""
        policy = SecurityPolicy()
        assert (policy.allow, policy.deny, policy.approve, policy.scopes) == ((), (), (), {})
        assert policy.limits == Limits(
            wall_ms=30_000,
            cpu_ms=10_000,
            memory_mb=256,
            calls=1000,
            concurrency=64,
            output_bytes=1_048_576,
            rates={},
        )

    def test_rules_are_sorted_and_said_once(self) -> None:
        """Order and repetition of rules carry no meaning, so they are not kept."""
        assert load_policy(FULL).policy.allow == ("files.read", "time.*")

    def test_sets_of_rules_are_accepted_from_python(self) -> None:
        """The dictionary form may hold sets, as the specification's model does."""
        assert load_policy({"allow": {"b.c", "a.*"}}).policy.allow == ("a.*", "b.c")

    @pytest.mark.parametrize(
        ("text", "rate"),
        [
            ("1/s", Rate(1, 1)),
            ("2/sec", Rate(2, 1)),
            ("60/min", Rate(60, 60)),
            ("7/hour", Rate(7, 3600)),
            ("999999/day", Rate(999_999, 86_400)),
        ],
    )
    def test_rates_are_parsed(self, text: str, rate: Rate) -> None:
        """Each unit of time has its seconds."""
        policy = load_policy({"limits": {"rates": {"web.fetch": text}}}).policy
        assert policy.limits.rate_for("web.fetch") == rate

    def test_an_exact_rate_comes_before_that_of_the_domain(self) -> None:
        """The domain's rate is for the capabilities without their own rate."""
        limits = load_policy(FULL).policy.limits
        assert limits.rate_for("web.fetch") == Rate(60, 60)
        assert limits.rate_for("web.head") == Rate(5, 1)
        assert limits.rate_for("files.read") is None

    def test_fields_cannot_be_assigned(self) -> None:
        """A policy is a value."""
        policy = SecurityPolicy()
        with pytest.raises(pydantic.ValidationError):
            policy.allow = ("files.read",)
        with pytest.raises(pydantic.ValidationError):
            policy.limits.calls = 5

    def test_later_edits_of_the_source_change_nothing(self) -> None:
        """Free-form JSON is copied in, and copied out."""
        source: dict[str, Any] = {"scopes": {"files": {"allowlist": ["./sandbox"]}}}
        policy = load_policy(source).policy
        source["scopes"]["files"]["allowlist"].append("/")
        handed_out = policy.scope_of("files")
        assert handed_out == {"allowlist": ["./sandbox"]}
        handed_out["allowlist"].append("/")
        assert policy.scope_of("files") == {"allowlist": ["./sandbox"]}
        assert policy.scope_of("web") is None

    def test_a_copy_with_changes_is_validated_and_named_anew(self) -> None:
        """`model_copy` neither avoids the checks nor makes a policy with the digest of another."""
        policy = load_policy(FULL).policy
        assert policy.model_copy() == policy
        changed = policy.model_copy(update={"deny": ()})
        assert changed.deny == ()
        assert changed.sha256 != policy.sha256
        with pytest.raises(pydantic.ValidationError):
            policy.model_copy(update={"allow": ("*",)})


class TestVerdict:
    @pytest.mark.parametrize(
        ("allow", "deny", "approve", "expected"),
        [
            ([], [], [], RuleVerdict(RuleEffect.NONE, None)),
            (["files.write"], [], [], RuleVerdict(RuleEffect.NONE, None)),
            (["file.*", "files_.*"], [], [], RuleVerdict(RuleEffect.NONE, None)),
            (["files.read"], [], [], RuleVerdict(RuleEffect.ALLOW, "files.read")),
            (["files.*"], [], [], RuleVerdict(RuleEffect.ALLOW, "files.*")),
            (["files.*", "files.read"], [], [], RuleVerdict(RuleEffect.ALLOW, "files.read")),
            (["files.read"], ["files.*"], [], RuleVerdict(RuleEffect.DENY, "files.*")),
            (["files.*"], ["files.read"], [], RuleVerdict(RuleEffect.DENY, "files.read")),
            ([], ["files.read"], [], RuleVerdict(RuleEffect.DENY, "files.read")),
            (["files.*"], ["files.write"], [], RuleVerdict(RuleEffect.ALLOW, "files.*")),
            ([], [], ["files.read"], RuleVerdict(RuleEffect.NONE, None)),
            (
                ["files.read"],
                [],
                ["files.*"],
                RuleVerdict(RuleEffect.ALLOW, "files.read", "files.*"),
            ),
        ],
    )
    def test_deny_beats_allow_and_silence_is_no_allow(
        self, allow: list[str], deny: list[str], approve: list[str], expected: RuleVerdict
    ) -> None:
        """The verdict names the rule that decided, the exact one before the domain's."""
        policy = load_policy({"allow": allow, "deny": deny, "approve": approve}).policy
        assert policy.verdict("files.read") == expected


class TestDryRun:
    TRIED: ClassVar = {"rule": "files.delete", "mode": "dry_run"}

    def test_a_rule_in_dry_run_denies_nothing_and_is_named(self) -> None:
        """It is kept apart from the rules that are in force."""
        policy = load_policy({"allow": ["files.*"], "deny": ["files.write", self.TRIED]}).policy
        assert (policy.deny, policy.dry_run) == (("files.write",), ("files.delete",))
        tried = RuleVerdict(RuleEffect.ALLOW, "files.*", dry_run="files.delete")
        assert policy.verdict("files.delete") == tried
        assert policy.verdict("files.read") == RuleVerdict(RuleEffect.ALLOW, "files.*")

    def test_an_enforced_rule_may_be_spelled_out(self) -> None:
        """Both forms are the same policy."""
        spelled = load_policy({"deny": [{"rule": "a.b", "mode": "enforce"}]}).policy
        assert spelled.sha256 == load_policy({"deny": ["a.b"]}).policy.sha256
        assert spelled.deny == ("a.b",)

    def test_what_is_enforced_is_not_only_tried_out(self) -> None:
        """Said in both modes, the stricter one holds."""
        policy = load_policy({"deny": [self.TRIED, "files.delete"]}).policy
        assert (policy.deny, policy.dry_run) == (("files.delete",), ())

    def test_the_mode_is_part_of_the_meaning(self) -> None:
        """A policy that tries a rule out has another digest than one without it or with it."""
        sources: list[Any] = [[], ["files.delete"], [self.TRIED]]
        assert len({load_policy({"deny": deny}).policy.sha256 for deny in sources}) == 3

    def test_a_policy_with_one_survives_being_written_and_copied(self) -> None:
        """What is dumped can be read again."""
        policy = load_policy({"deny": ["a.b", self.TRIED]}).policy
        assert policy.model_dump(mode="json")["deny"] == ["a.b", self.TRIED]
        assert policy.model_copy() == policy
        assert policy_from_json(policy.model_dump_json().encode(), source="p") == policy

    @pytest.mark.parametrize(
        ("rule", "what"),
        [
            ({"rule": "a.b"}, "`mode` should be `enforce` or `dry_run`"),
            ({"rule": "a.b", "mode": "dryrun"}, "`mode` should be `enforce` or `dry_run`"),
            ({"rule": "a.b", "mode": True}, "`mode` should be `enforce` or `dry_run`"),
            ({"mode": "dry_run"}, "`rule` should be a string"),
            ({"rule": 5, "mode": "dry_run"}, "`rule` should be a string"),
            ({"rule": "*", "mode": "dry_run"}, "would match everything"),
            (
                {"rule": "a.b", "mod": "dry_run"},
                "`mod` is not a key of a rule (did you mean `mode`?)",
            ),
            (["a.b"], "should be a string, or an object with `rule` and `mode`"),
        ],
    )
    def test_a_rule_object_that_does_not_fit_is_refused(self, rule: Any, what: str) -> None:
        """A misspelt mode neither enforces nor lets through by chance."""
        error = refusal({"deny": ["a.b", rule]})
        assert what in error.message
        assert error.place == "deny[1]"

    @pytest.mark.parametrize("key", ["allow", "approve"])
    def test_other_lists_hold_plain_rules(self, key: str) -> None:
        """There is nothing to try out about an allow."""
        assert "should be a string, got object" in refusal({key: [self.TRIED]}).message


class TestDigest:
    def test_the_digest_is_pinned(self) -> None:
        """Audit logs hold it for years: it must not change between releases unnoticed."""
        canonical = (
            b'{"allow":[],"approve":[],"deny":[],"description":null,"id":"unnamed","limits":'
            b'{"calls":1000,"concurrency":64,"cpu_ms":10000,"memory_mb":256,'
            b'"output_bytes":1048576,"rates":{"web.*":"5/s"},"wall_ms":30000},'
            b'"scopes":{"web":{"share":0.5}},"tests":[],"version":1}'
        )
        source = {"limits": {"rates": {"web.*": "5/sec"}}, "scopes": {"web": {"share": 0.5}}}
        expected = hashlib.sha256(b"caps.policy.v1\0" + canonical).hexdigest()
        assert load_policy(source).policy.sha256 == expected

    def test_spelling_does_not_matter(self) -> None:
        """Order, repetition, defaults, units and the editor's key are not part of the meaning."""
        other = {
            **{key: FULL[key] for key in reversed(FULL) if key != "$schema"},
            "allow": ["files.read", "time.*"],
            "description": None,
            "limits": {"rates": {"web.*": "5/sec", "web.fetch": "60/min"}, "wall_ms": 5000},
        }
        assert load_policy(other).policy.sha256 == load_policy(FULL).policy.sha256

    @pytest.mark.parametrize(
        "change",
        [
            {"id": "other"},
            {"description": "x"},
            {"allow": ["files.read"]},
            {"deny": []},
            {"approve": []},
            {"scopes": {}},
            {"scopes": {"files": {**FULL["scopes"]["files"], "read_only": False}}},
            {"limits": {}},
            {"limits": {**FULL["limits"], "approval_ms": 1000}},
            {"tests": []},
            {"modules": ["numpy"]},
        ],
    )
    def test_every_change_of_meaning_changes_it(self, change: dict[str, Any]) -> None:
        """No field is left out of the digest."""
        assert load_policy({**FULL, **change}).policy.sha256 != load_policy(FULL).policy.sha256


class TestRefusals:
    @pytest.mark.parametrize(
        ("source", "what", "place"),
        [
            ({"version": 2}, "should be 1", "version"),
            ({"version": True}, "should be 1", "version"),
            ({"version": 1.0}, "should be 1", "version"),
            ({"id": ""}, "at least 1 character", "id"),
            ({"id": "a b"}, "letters, digits", "id"),
            ({"id": "a\n"}, "letters, digits", "id"),
            ({"id": "x" * 129}, "at most 128 characters", "id"),
            ({"$schema": 1}, "should be a string", "$schema"),
            ({"alow": []}, "unknown key (did you mean `allow`?)", "alow"),
            ({"qqqqq": []}, "unknown key", "qqqqq"),
            ({"limits": {"wall_m": 1}}, "unknown key (did you mean `wall_ms`?)", "limits.wall_m"),
            ({"allow": "files.read"}, "should be an array, got string", "allow"),
            ({"allow": [1]}, "should be a string, got number", "allow[0]"),
            ({"allow": ["x.y"] * 1025}, "at most 1024 items", "allow"),
            ({"scopes": {f"d{n}": {} for n in range(1025)}}, "at most 1024 items", "scopes"),
            (
                {"limits": {"rates": {f"x.d{n}": "1/s" for n in range(1025)}}},
                "at most 1024 items",
                "limits.rates",
            ),
            (
                {"tests": [{"call": "x.y", "expect": "deny"}] * 4097},
                "at most 4096 items",
                "tests",
            ),
            ({"scopes": []}, "should be an object, got array", "scopes"),
            ({"scopes": {"files": None}}, "should be an object, got null", "scopes.files"),
            ({"scopes": {"Files": {}}}, "`Files` is not a domain", "scopes.Files"),
            ({"scopes": {"a": {"b": {1}}}}, "should be JSON data, got `set`", "scopes.a.b"),
            ({"scopes": {"a": {"b": {1: 2}}}}, "keys should be strings", "scopes.a.b"),
            ({"scopes": {"a": {"b": [2**53]}}}, "beyond 2**53 - 1", "scopes.a.b[0]"),
            ({"scopes": {"a": {"b": 10**400}}}, "beyond 2**53 - 1", "scopes.a.b"),
            ({"scopes": {"a": {"b": float("nan")}}}, "finite number", "scopes.a.b"),
            ({"scopes": {"a": {"b": "\ud800"}}}, "surrogate", "scopes.a.b"),
            ({"limits": None}, "should be an object, got null", "limits"),
            ({"limits": {"wall_ms": 0}}, "greater than or equal to 1", "limits.wall_ms"),
            ({"limits": {"wall_ms": 3_600_001}}, "less than or equal", "limits.wall_ms"),
            ({"limits": {"memory_mb": 15}}, "greater than or equal to 16", "limits.memory_mb"),
            ({"limits": {"calls": -1}}, "greater than or equal to 0", "limits.calls"),
            ({"limits": {"calls": "5"}}, "an integer, got string", "limits.calls"),
            ({"limits": {"calls": True}}, "an integer, got boolean", "limits.calls"),
            ({"limits": {"calls": 5.0}}, "an integer, got number", "limits.calls"),
            ({"limits": {"calls": None}}, "an integer, got null", "limits.calls"),
            ({"limits": {"rates": {"a.b": 5}}}, "should be a rate", 'limits.rates["a.b"]'),
            ({"limits": {"rates": {"a*": "5/s"}}}, "is not a rule", 'limits.rates["a*"]'),
            ({"tests": [{"call": "a.b"}]}, "missing key", "tests[0].expect"),
            ({"tests": [{"call": "a.*", "expect": "deny"}]}, "not a capability", "tests[0].call"),
            (
                {"tests": [{"call": "a.b", "expect": "no"}]},
                "`deny` or `approve`",
                "tests[0].expect",
            ),
            ({1: 2}, "keys should be strings", "[1]"),
        ],
    )
    def test_what_does_not_fit_is_refused_with_its_place(
        self, source: dict[str, Any], what: str, place: str
    ) -> None:
        """Nothing is converted to fit, and the error says what is wrong and where."""
        error = refusal(source)
        assert what in error.message
        assert error.message.endswith(f"at `{place}`")
        assert (error.source, error.place) == ("dict", place)

    @pytest.mark.parametrize(
        ("rule", "says"),
        [
            ("*", "would match everything"),
            ("*.*", "would match everything"),
            ("files.re*", "`*` may only stand for all of a domain"),
            ("*.read", "`*` may only stand for all of a domain"),
            ("files.**", "`*` may only stand for all of a domain"),
            ("files.a.*", "`*` may only stand for all of a domain"),
            ("files", "write `files.*`"),
            ("", "`domain.function` or `domain.*`"),
            ("files.", "`domain.function` or `domain.*`"),
            (".read", "`domain.function` or `domain.*`"),
            ("files.read.all", "`domain.function` or `domain.*`"),
            ("Files.read", "`domain.function` or `domain.*`"),
            ("files.read ", "`domain.function` or `domain.*`"),
            ("files.read\n", "`domain.function` or `domain.*`"),
            ("files.réad", "`domain.function` or `domain.*`"),
            ("files.__class__", "`domain.function` or `domain.*`"),
            ("9files.read", "`domain.function` or `domain.*`"),
            ("a" * 65 + ".read", "`domain.function` or `domain.*`"),
        ],
    )
    def test_what_is_no_rule_is_refused(self, rule: str, says: str) -> None:
        """`domain.function` and `domain.*` are the whole language, wherever rules are written."""
        for key in ("allow", "deny", "approve"):
            error = refusal({key: ["files.read", rule]})
            assert says in error.message
            assert error.place == f"{key}[1]"

    @pytest.mark.parametrize(
        "text",
        ["0/s", "-1/s", "1/ms", "1.5/s", "1/ s", "1/s\n", "01/s", "1", "/s", "1000000/s", "²/s"],
    )
    def test_what_is_no_rate_is_refused(self, text: str) -> None:
        """A rate is a positive count, a slash and a known unit."""
        assert "is not a rate" in refusal({"limits": {"rates": {"a.b": text}}}).message

    def test_several_problems_are_counted_and_listed(self) -> None:
        """The line names the first; the details hold them all."""
        error = refusal({"alow": [], "version": 3, "limits": {"calls": -1}})
        assert error.message.endswith("(and 2 more)")
        assert {p["place"] for p in error.problems} == {"alow", "version", "limits.calls"}
        assert all(p["what"] for p in error.problems)

    def test_hostile_keys_stay_on_one_line(self) -> None:
        """Control characters and backticks of a key cannot forge the line that reports it."""
        error = refusal({"a\n`b\x1b[31m": 1})
        assert "\\n" in error.message
        assert "\x1b" not in error.message

    @pytest.mark.parametrize(
        ("data", "what", "place"),
        [
            (b"", "is not JSON, expecting value", "line 1 column 1"),
            (b'{\n "id": "a",\n}', "is not JSON", _TRAILING_COMMA),
            (b"{} {}", "is not JSON, extra data", "line 1 column 4"),
            (b'{\n"id": "\xff"}', "is not UTF-8", "line 2 column 8"),
            (b"\xef\xbb\xbf{}", "BOM", "line 1 column 1"),
            (b"[]", "should be an object, got array", "line 1 column 1"),
            (b"null", "should be an object, got null", "line 1 column 1"),
            (b'{"deny": ["a.b"], "deny": []}', "key is given twice", "deny"),
            (b'{"limits": {"calls": 1, "calls": 2}}', "key is given twice", "limits.calls"),
            (b'{"tests": [{"call": "a.b", "call": ""}]}', "key is given twice", "tests[0].call"),
            (b'{"scopes": {"a": {"b": NaN}}}', "finite number", "scopes.a.b"),
            (b'{"scopes": {"a": {"b": -Infinity}}}', "finite number", "scopes.a.b"),
            (b'{"scopes": {"a": {"b": 1e999}}}', "finite number", "scopes.a.b"),
            (b'{"limits": {"calls": ' + b"9" * 20 + b"}}", "beyond 2**53 - 1", "limits.calls"),
            (b'{"limits": {"calls": ' + b"9" * 9999 + b"}}", "finite number", "limits.calls"),
            (b'{"description": "\\ud800"}', "surrogate", "description"),
            (b"[" * 100_000, "nested deeper than 32 levels", None),
            (b" " * (MAX_POLICY_BYTES + 1), "larger than 1048576 bytes", None),
        ],
    )
    def test_json_that_readers_could_disagree_about_is_refused(
        self, data: bytes, what: str, place: str | None
    ) -> None:
        """Malformed, ambiguous or unbounded text is one clear error with its place."""
        error = refusal(data)
        assert what in error.message
        assert error.place == place

    def test_depth_is_capped(self) -> None:
        """The cap holds for files and for dictionaries, cyclic ones included."""
        deep = b'{"scopes": {"a": ' + b'{"a": ' * 40 + b"1" + b"}" * 42
        assert "nested deeper than 32 levels" in refusal(deep).message
        cyclic: dict[str, Any] = {}
        cyclic["again"] = cyclic
        assert "nested deeper than 32 levels" in refusal({"scopes": {"a": cyclic}}).message


class TestSources:
    def test_a_file_is_read_and_its_directory_is_the_base(self, tmp_path: Path) -> None:
        """Relative paths in scopes start where the file is, whatever the working directory."""
        file = tmp_path / "p.json"
        file.write_text(json.dumps(FULL))
        for source in (file, str(file)):
            loaded = load_policy(source)
            assert loaded.policy == load_policy(FULL).policy
            assert (loaded.source, loaded.base) == (str(file), tmp_path)

    def test_the_base_of_a_linked_file_is_where_the_link_is(self, tmp_path: Path) -> None:
        """A mounted ConfigMap swaps the directory behind the link; the base must outlive that."""
        (tmp_path / "..data").mkdir()
        (tmp_path / "..data" / "p.json").write_text("{}")
        (tmp_path / "p.json").symlink_to("..data/p.json")
        assert load_policy(tmp_path / "p.json").base == tmp_path

    def test_a_relative_path_gets_an_absolute_base(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A later change of the working directory moves no scope."""
        (tmp_path / "p.json").write_text("{}")
        monkeypatch.chdir(tmp_path)
        assert load_policy("p.json").base == tmp_path
        assert load_policy({}).base == tmp_path

    def test_a_policy_object_is_taken_as_it_is(self) -> None:
        """What was validated once is not read again."""
        policy = SecurityPolicy(id="mine")
        assert load_policy(policy).policy is policy

    @pytest.mark.parametrize("value", [None, ""])
    def test_without_a_source_everything_is_denied(
        self, value: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No source, or an empty variable, is the empty policy."""
        monkeypatch.delenv("CAPS_POLICY_PATH", raising=False)
        if value is not None:
            monkeypatch.setenv("CAPS_POLICY_PATH", value)
        loaded = load_policy()
        expected = SecurityPolicy(id="no-policy-given")
        assert (loaded.policy, loaded.source) == (expected, "default")

    def test_the_environment_names_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`CAPS_POLICY_PATH` counts when no source is given, and a bad one is an error."""
        (tmp_path / "p.json").write_text('{"id": "from-env"}')
        monkeypatch.setenv("CAPS_POLICY_PATH", str(tmp_path / "p.json"))
        assert load_policy().policy.id == "from-env"
        assert load_policy({"id": "given"}).policy.id == "given"
        monkeypatch.setenv("CAPS_POLICY_PATH", str(tmp_path / "absent.json"))
        assert refusal(None).message.endswith("absent.json`: no such file")

    def test_what_cannot_be_read_is_refused(self, tmp_path: Path) -> None:
        """A missing file, a directory, an endless device: each error says what it found."""
        assert refusal(tmp_path / "absent").message.endswith("no such file")
        assert "is a directory" in refusal(tmp_path).message
        assert "is not a regular file" in refusal("/dev/zero").message
        os.mkfifo(tmp_path / "pipe")
        assert "is not a regular file" in refusal(tmp_path / "pipe").message
        with (tmp_path / "endless").open("wb") as file:
            file.truncate(2**40)
        assert "larger than" in refusal(tmp_path / "endless").message
        assert "cannot be the name of a file" in refusal("a\0b").message
        assert "not a directory" in refusal("/dev/null/p.json").message
        assert "should be a path" in refusal(3).message

    def test_an_unreadable_file_is_refused(self, tmp_path: Path) -> None:
        """Permission errors are refusals too, not an empty policy."""
        file = tmp_path / "p.json"
        file.write_text("{}")
        file.chmod(0)
        if os.access(file, os.R_OK):
            pytest.skip("this user reads files whatever their mode")
        assert "permission denied" in refusal(file).message


class TestExamplesAndSchema:
    def test_there_are_examples(self) -> None:
        """The parametrised tests below must not pass because there are no files."""
        assert {"deny-all.json", "reader.json"} <= {path.name for path in EXAMPLES}

    @pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
    def test_examples_are_valid_for_both_readers(self, path: Path) -> None:
        """Each example loads, is named after its file, tests itself, and fits the JSON Schema."""
        policy = load_policy(path).policy
        assert policy.id == path.stem
        assert policy.tests
        validator = jsonschema_rs.validator_for(json.loads(json_schema.policy_schema()))
        assert list(validator.iter_errors(json.loads(path.read_text()))) == []

    @pytest.mark.parametrize(
        "value",
        [
            {"allow": ["*"]},
            {"allow": ["files.re*"]},
            {"alow": []},
            {"limits": {"calls": -1}},
            {"limits": {"rates": {"a.b": "5"}}},
            {"limits": {"rates": {"a": "5/s"}}},
            {"scopes": {"A": {}}},
            {"version": 2},
            {"modules": "numpy"},
            {"modules": ["numpy..linalg"]},
            {"modules": ["_ctypes"]},
            {"modules": ["a"] * 33},
        ],
    )
    def test_the_schema_refuses_what_the_model_refuses(self, value: dict[str, Any]) -> None:
        """Editors warn about the mistakes that loading would stop at."""
        validator = jsonschema_rs.validator_for(json.loads(json_schema.policy_schema()))
        assert not validator.is_valid(value)
        refusal(value)

    def test_the_checked_in_schema_is_current(self) -> None:
        """The file is the schema of the model."""
        assert json_schema.main(["--check", str(POLICIES / "policy.schema.json")]) == 0

    def test_a_stale_schema_is_reported_and_can_be_rewritten(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """`--check` fails on a missing or different file; without it the file is written."""
        path = tmp_path / "s.json"
        assert json_schema.main(["--check", str(path)]) == 1
        path.write_text("{}")
        assert json_schema.main(["--check", str(path)]) == 1
        assert str(path) in capsys.readouterr().err
        assert json_schema.main([str(path)]) == 0
        assert json_schema.main(["--check", str(path)]) == 0


class TestNames:
    def test_quoted_text_is_one_bounded_line(self) -> None:
        """Whatever comes in, what is shown is short, printable and keeps its backticks paired."""
        shown = quoted("a`b\n\x1b\u202e" + "x" * 1000)
        assert shown.startswith("`a'b\\n\\x1b\\u202e")
        assert shown.count("`") == 2
        assert len(shown) < 150


class TestUncheckedParts:
    """A policy that was created without the checks of the model decides nothing."""

    def test_a_policy_that_was_never_validated_is_refused(self) -> None:
        """In `model_construct` a string would match by its substrings."""
        unchecked = SecurityPolicy.model_construct(allow="files.read files.write")
        with pytest.raises(PolicyInvalidError, match="was not validated"):
            load_policy(unchecked)

    def test_limits_that_were_never_validated_are_refused(self) -> None:
        """They are validated with the policy."""
        with pytest.raises(pydantic.ValidationError):
            SecurityPolicy(limits=Limits.model_construct(calls=float("inf")))

    @pytest.mark.parametrize("mode", ["enforced", "", None, True, "DRY_RUN"])
    def test_a_deny_rule_with_another_mode_is_refused(self, mode: Any) -> None:
        """A rule is enforced or in dry run; nothing is neither."""
        with pytest.raises(pydantic.ValidationError, match="`mode` should be"):
            SecurityPolicy.model_validate({"deny": [DenyRule("files.read", mode)]})

    def test_a_mode_by_its_text_is_enforced(self) -> None:
        """As in JSON, `"enforce"` denies."""
        rule = DenyRule("files.read", "enforce")  # type: ignore[arg-type]
        policy = SecurityPolicy.model_validate({"allow": ["files.*"], "deny": [rule]})
        assert policy.verdict("files.read").effect is RuleEffect.DENY

    @pytest.mark.parametrize("count", [True, 1.5, "3", float("inf")])
    def test_a_rate_counts_whole_calls(self, count: Any) -> None:
        """As in JSON."""
        with pytest.raises(ValueError, match="is not a rate"):
            Rate(count, 60)
