"""Several policies at random: a chain allows what each policy alone allows, and never more."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from caps.capabilities.chain import chain_of
from caps.capabilities.grant import BoundPolicy, Grant
from caps.capabilities.provider import CallContext, ProviderError, ScopeViolationError
from caps.providers.builtin import builtin_registry
from caps.providers.files import read, write
from caps.security.decision import Decision, decide
from caps.security.policies.load import LoadedPolicy
from caps.security.request import ApprovalUse, KeyUse, Request, Usage
from caps.security.review.replay import replay
from support.file_calls import context_of
from support.hypothesis_examples import examples
from support.policy_strategies import REGISTRY, RULES, Call, calls, loaded, policies, records_of


def mostly(usual: Any, others: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Skewed to what lets a call pass, so that each policy has its turn to refuse."""
    return st.integers(0, 5).flatmap(lambda n: others if n == 5 else st.just(usual))


def passing_policies() -> st.SearchStrategy[LoadedPolicy]:
    """Policies that allow most calls, and differ in one thing or another."""
    directories = st.sampled_from(["/", "/srv", "/srv/a", "/srv/a/b"])
    scope = st.fixed_dictionaries(
        {"allowlist": st.lists(directories, min_size=1, max_size=2)},
        optional={"read_only": mostly(False, st.just(True)), "max_bytes": st.sampled_from([8, 99])},
    )
    rule = st.lists(st.sampled_from(RULES), min_size=1, max_size=1)
    limits = st.fixed_dictionaries(
        {}, optional={"calls": st.sampled_from([1, 3]), "rates": st.just({"files.*": "2/min"})}
    )
    return st.fixed_dictionaries(
        {
            "id": st.sampled_from(["one", "two"]),
            "allow": mostly(["files.*", "math.*", "time.*"], rule),
            "deny": mostly([], rule),
            "approve": mostly([], rule),
            "scopes": scope.map(lambda files: {"files": files}),
            "limits": mostly({}, limits),
        }
    ).map(loaded)


some_policy = st.one_of(passing_policies(), passing_policies(), policies())
chains = st.lists(some_policy, min_size=1, max_size=4)


class Used(msgspec.Struct, frozen=True):
    """What was used; `windows` has a count for each policy of a chain, and more."""

    usage: Usage
    windows: tuple[int, ...]

    def for_all(self, count: int) -> Usage:
        return msgspec.structs.replace(self.usage, in_rate_windows=self.windows[:count])

    def alone(self, index: int) -> Usage:
        return msgspec.structs.replace(self.usage, in_rate_windows=(self.windows[index],))


usages = st.builds(
    Used,
    usage=st.builds(
        Usage,
        calls=mostly(0, st.sampled_from([1, 3])),
        in_flight=mostly(0, st.just(64)),
        in_rate_windows=st.just(()),
        past_deadline=mostly(False, st.just(True)),
        key=mostly(KeyUse.FRESH, st.sampled_from(KeyUse)),
        approval=st.sampled_from(ApprovalUse),
    ),
    windows=st.tuples(*[st.sampled_from([0, 0, 1, 2, 60])] * 5),
)


def grant_of(chain: Sequence[LoadedPolicy]) -> Grant:
    return REGISTRY.terms_of(*chain)


def decided(chain: Sequence[LoadedPolicy], call: Call, used: Used) -> Decision:
    grant = grant_of(chain)
    request = Request(call.capability, call.payload)
    # A policy that is given twice is in the grant once.
    return decide(grant, request, used.for_all(len(grant.links)))


def relative_path(call: Call) -> str | None:
    path = call.payload.get("path", "." if call.capability == "files.list" else None)
    return path if isinstance(path, str) and not path.startswith("/") else None


def places(chain: Sequence[LoadedPolicy], call: Call) -> list[Call]:
    """The call as it is, and with its relative path where each policy of `chain` starts it."""
    path, found = relative_path(call), [call]
    if path is None:
        return found
    for policy in chain:
        scope = policy.policy.scope_of("files")
        if scope is not None:
            start = os.path.normpath(Path("/base") / scope["allowlist"][0])
            found.append(Call(call.capability, {**call.payload, "path": f"{start}/{path}"}))
    return found


def naive(chain: Sequence[LoadedPolicy], call: Call, used: Used) -> bool:
    """Every policy alone allows the call, wherever the policies after it start its path."""
    return all(
        decide(
            grant_of([policy]), Request(each.capability, each.payload), used.alone(index)
        ).allowed
        for index, policy in enumerate(chain)
        for each in places(chain[index + 1 :], call)
    )


@examples(1500)
@given(chains, calls(), usages)
def test_a_chain_allows_what_each_policy_allows_alone(
    chain: list[LoadedPolicy], call: Call, used: Used
) -> None:
    """Both ways; and the policy that is named for a refusal does refuse it alone."""
    decision = decided(chain, call, used)
    event(f"{len(chain)} policies: {decision.reason}")
    assert decision.allowed is naive(chain, call, used)
    named = [each for each in chain if each.policy.sha256 == decision.policy_sha256]
    assert named
    if decision.allowed:
        assert named[-1] is chain[-1]


@examples(1000)
@given(chains, some_policy, calls(), usages, st.integers(0, 4))
def test_adding_a_policy_never_allows_more(
    chain: list[LoadedPolicy], added: LoadedPolicy, call: Call, used: Used, place: int
) -> None:
    """At the top, in the middle or at the end, whatever a relative path means then."""
    place = min(place, len(chain))
    longer = [*chain[:place], added, *chain[place:]]
    windows = (*used.windows[:place], 0, *used.windows[place:])
    if decided(longer, call, msgspec.structs.replace(used, windows=windows)).allowed:
        assert decided(chain, call, used).allowed


@examples(300)
@given(chains)
def test_what_is_derived_is_what_all_have(chain: list[LoadedPolicy]) -> None:
    """Grants, limits and the manifest are never wider than those of one policy."""
    together, each = grant_of(chain).chain, [grant_of([policy]).chain for policy in chain]
    assert set(together.granted) == set.intersection(*(set(one.granted) for one in each))
    assert [entry.name for entry in together.manifest] == list(together.granted)
    for kind in ("wall_ms", "cpu_ms", "memory_mb", "calls", "concurrency", "output_bytes"):
        lowest = min(getattr(one.limits, kind) for one in each)
        assert getattr(together.limits, kind) == lowest


@examples(300)
@given(some_policy, st.lists(some_policy, min_size=2, max_size=3), st.lists(calls(), max_size=5))
def test_replay_under_a_chain_never_says_what_is_not_so(
    then: LoadedPolicy, now: list[LoadedPolicy], made: list[Call]
) -> None:
    """Its answer is the decision about the real payload, or `unknown`; it names a policy."""
    found = list(replay(REGISTRY, now, records_of(then, made), recorded_under=then))
    for index, (one, call) in enumerate(zip(found, made, strict=True)):
        usage = Usage(calls=index, in_flight=0, in_rate_windows=(), past_deadline=False)
        truth = decide(grant_of(now), Request(call.capability, call.payload), usage)
        assert one.answer.allowed in (None, truth.allowed)
        assert one.answer.policy in {policy.policy.id for policy in now}


# -- the files provider, on a real directory ----------------------------------------------------

FOLDERS = ["", "a", "a/b", "a/b/c", "d", "to_a", "a/to_b", "a/abs_b"]
FILES = ["f", "a/f", "a/b/f", "a/b/c/f", "d/f"]
LINKS = {
    "to_a": "a",
    "a/to_b": "b",
    "a/to_d": "../d",
    "a/b/up": "..",
    "a/b/to_f": "../f",
    "a/b/c/out": "../../../../outside",
    "d/back": "../a/b",
}
NAMES = ["f", "new", "a", "b", "c", "d", "to_a", "to_b", "to_d", "up", "to_f", "out", "back", ".."]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("chains")
    root = base / "root"
    (root / "a" / "b" / "c").mkdir(parents=True)
    (root / "d").mkdir()
    (base / "outside").write_text("outside")
    for name in FILES:
        (root / name).write_text(name)
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    (root / "a" / "abs_b").symlink_to(root / "a" / "b")
    return root


class FilesCase(msgspec.Struct, frozen=True):
    """Directories for each policy, and a path: relative, or absolute beneath the root."""

    allowlists: tuple[tuple[str, ...], ...]
    path: str
    absolute: bool


cases = st.builds(
    FilesCase,
    allowlists=st.lists(
        st.lists(st.sampled_from(FOLDERS), min_size=1, max_size=2).map(tuple),
        min_size=2,
        max_size=3,
    ).map(tuple),
    path=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join),
    absolute=st.booleans(),
)
FILES_REGISTRY = builtin_registry()


def files_policy(root: Path, allowlist: tuple[str, ...]) -> BoundPolicy:
    entries = [str(root / entry) for entry in allowlist]
    policy: dict[str, Any] = {"allow": ["files.*"], "scopes": {"files": {"allowlist": entries}}}
    return FILES_REGISTRY.bind(policy)


def context(*bound: BoundPolicy) -> CallContext:
    return context_of("files.read", chain_of(*bound).terms["files.read"].scope)


def reached(call: CallContext, path: str) -> tuple[str, ...] | None:
    """What a call reads or lists; None if it is refused."""
    with suppress(ProviderError):
        try:
            return ("file", read.read(call, path)["content"])
        except ScopeViolationError:
            return None
    try:
        listing = read.list_directory(call, path)
    except ScopeViolationError:
        return None
    except ProviderError:
        return ("error",)
    return ("directory", *(entry["name"] for entry in listing["entries"]))


@examples(400)
@given(case=cases)
def test_the_files_of_a_chain_are_those_that_each_policy_reaches(
    case: FilesCase, tree: Path
) -> None:
    """Links and all: what is found is what each policy alone finds at the same absolute path."""
    bound = [files_policy(tree, allowlist) for allowlist in case.allowlists]
    start = tree if case.absolute else tree / case.allowlists[-1][0]
    path = f"{tree}/{case.path}" if case.absolute else case.path
    found = reached(context(*bound), path)
    event(f"{'absolute' if case.absolute else 'relative'}: {found[0] if found else 'refused'}")
    if found is None or found == ("error",):
        return
    assert "outside" not in found
    alone = [reached(context(each), f"{start}/{case.path}") for each in bound[:-1]]
    assert [*alone, reached(context(bound[-1]), path)] == [found] * len(bound)


@examples(200)
@given(case=cases)
def test_an_absolute_path_that_each_policy_reaches_is_reached_by_all(
    case: FilesCase, tree: Path
) -> None:
    """The other way: a chain refuses nothing on its own account but two files for one path."""
    bound = [files_policy(tree, allowlist) for allowlist in case.allowlists]
    path = f"{tree}/{case.path}"
    alone = {reached(context(each), path) for each in bound}
    if len(alone) == 1 and None not in alone:
        assert reached(context(*bound), path) == alone.pop()


@examples(150)
@given(case=cases)
def test_a_chain_writes_only_where_each_policy_writes(
    case: FilesCase, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In a directory of its own for each example: what is written lies beneath every root."""
    root = tmp_path_factory.mktemp("write") / "root"
    (root / "a" / "b" / "c").mkdir(parents=True)
    (root / "d").mkdir()
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    (root / "a" / "abs_b").symlink_to(root / "a" / "b")
    bound = [files_policy(root, allowlist) for allowlist in case.allowlists]
    path = f"{root}/{case.path}" if case.absolute else case.path
    before = {each for each in root.parent.rglob("*") if each.is_file()}
    try:
        write.write(context(*bound), path, "new")
    except (ScopeViolationError, ProviderError):
        return
    made = {each for each in root.parent.rglob("*") if each.is_file()} - before
    places = {each.resolve() for each in made}
    assert len(places) == 1
    place = places.pop()
    for allowlist in case.allowlists:
        roots = [(root / entry).resolve() for entry in allowlist]
        assert any(place.is_relative_to(each) for each in roots)
