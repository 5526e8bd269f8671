"""A policy that changes while the runtime is open: what comes into force, and what does not."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from prometheus_client import CollectorRegistry

from caps import (
    AuditError,
    ConfigurationError,
    MemoryAuditLog,
    Metrics,
    PolicyInvalidError,
    Runtime,
    builtin_registry,
)
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.opening.policy_reload import CurrentPolicy, PolicyReloader
from caps.security.audit import AuditEvent, PolicyLoaded
from caps.security.policies.load import read_policy

pytestmark = pytest.mark.anyio

ONE = {"id": "one", "allow": ["math.add"]}
TWO = {"id": "two", "allow": ["math.add", "math.multiply"]}
BAD = {"id": "bad", "allow": ["math.ad"]}
FAILING = {
    **TWO,
    "tests": [{"call": "math.multiply", "payload": {"a": 1, "b": 2}, "expect": "deny"}],
}


class ObservedLog(MemoryAuditLog):
    """A log that says when a policy was recorded, and can be set to refuse to record one."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.loaded = anyio.Event()

    async def append(self, event: AuditEvent) -> None:
        if isinstance(event, PolicyLoaded) and self.is_full:
            raise AuditError("the disk is full")
        await super().append(event)
        if isinstance(event, PolicyLoaded):
            self.loaded.set()


@dataclass
class Place:
    """A policy file, and a reloader that polls when the test says so."""

    path: Path
    audit: ObservedLog = field(default_factory=ObservedLog)
    samples: CollectorRegistry = field(default_factory=CollectorRegistry)

    def write(self, policy: Any) -> None:
        self.path.write_text(policy if isinstance(policy, str) else json.dumps(policy))

    async def check_workers(self, bound: BoundPolicy) -> None:
        if "nowhere" in bound.policy.modules:
            raise PolicyInvalidError("module `nowhere` cannot be imported at modules[0]")

    def watch(self) -> PolicyReloader:
        registry, metrics = builtin_registry(), Metrics(self.samples)
        in_force = CurrentPolicy(registry.bind(str(self.path)), metrics)
        return PolicyReloader(
            str(self.path), registry, self.check_workers, self.audit, metrics, in_force
        )

    @property
    def loads(self) -> list[tuple[str, str]]:
        events = [event for event in self.audit.events if isinstance(event, PolicyLoaded)]
        return [(event.policy_id, event.status) for event in events]

    def reloads(self, outcome: str) -> float:
        labels = {"outcome": outcome}
        return self.samples.get_sample_value("caps_policy_reloads_total", labels) or 0.0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "policy.json")
    made.write(ONE)
    return made


class TestLooking:
    async def test_a_pipe_in_its_place_is_a_bad_policy(self, place: Place) -> None:
        """Nothing waits for its other end; the next good file comes into force."""
        watch = place.watch()
        place.path.unlink()
        os.mkfifo(place.path)
        await watch.poll()
        await watch.poll()
        assert place.loads == [("(unread)", "refused")]
        assert watch.in_force.bound.policy.id == "one"
        place.path.unlink()
        place.write(TWO)
        await watch.poll()
        assert watch.in_force.bound.policy.id == "two"

    async def test_a_file_that_cannot_be_read_in_time_is_counted(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A mount that hangs holds one thread and no more; the last good policy stays."""
        watch, goes_on, begun = place.watch(), threading.Event(), list[str]()

        def hang(path: str) -> bytes:
            begun.append(path)
            goes_on.wait()
            return read_policy(path)

        monkeypatch.setattr("caps.capabilities.runtime.opening.policy_reload.read_policy", hang)
        watch.read_s = 0.01
        try:
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    await watch.poll()
            assert len(begun) == 1
        finally:
            goes_on.set()
        assert watch.in_force.bound.policy.id == "one"

    async def test_what_is_bad_in_another_way_each_time_is_recorded(self, place: Place) -> None:
        """After three polls it cannot be an unfinished write."""
        watch = place.watch()
        for number in range(3):
            place.write(f'{{"id": {number}')
            await watch.poll()
        assert place.loads == [("(unread)", "refused")]
        assert place.reloads("refused") == 1

    async def test_a_policy_that_could_rewrite_itself_stays_out(self, place: Place) -> None:
        """At a reload as at the opening, and for the places of the one that is in force."""
        watch = place.watch()
        for entry in (".", str(place.path.parent.parent)):
            place.write({**TWO, "allow": ["files.*"], "scopes": {"files": {"allowlist": [entry]}}})
            await watch.poll()
            await watch.poll()
        assert watch.in_force.bound.policy.id == "one"
        assert place.loads == [("two", "refused"), ("two", "refused")]

    async def test_a_changed_file_comes_into_force(self, place: Place) -> None:
        """Once recorded; the metrics name what is in force and nothing else."""
        watch = place.watch()
        await watch.poll()
        assert place.loads == []
        place.write(TWO)
        await watch.poll()
        await watch.poll()
        assert watch.in_force.bound.policy.id == "two"
        assert place.loads == [("two", "accepted")]
        assert place.reloads("accepted") == 1
        samples = [
            sample.labels["policy_id"]
            for metric in place.samples.collect()
            for sample in metric.samples
            if sample.name == "caps_policy_info"
        ]
        assert samples == ["two"]

    async def test_another_form_of_the_same_policy_is_no_change(self, place: Place) -> None:
        """Its digest is of the meaning."""
        watch = place.watch()
        place.write(json.dumps(ONE, indent=4))
        await watch.poll()
        assert place.loads == []

    @pytest.mark.parametrize(
        "content",
        [
            BAD,
            FAILING,
            {"id": "two", "modules": ["nowhere"]},
            "",
            '{"id": "two", "allow": ["math',
            "[]",
            '{"alow": []}',
        ],
    )
    async def test_a_bad_one_leaves_the_last_good_one_in_force(
        self, place: Place, content: Any
    ) -> None:
        """It is recorded and counted once, however often it is polled."""
        watch = place.watch()
        place.write(content)
        for _ in range(4):
            await watch.poll()
        assert watch.in_force.bound.policy.id == "one"
        read = isinstance(content, dict)  # then it is named, with what is wrong with it
        assert place.loads == [(content["id"] if read else "(unread)", "refused")]
        assert place.reloads("refused") == 1

    async def test_half_of_a_write_is_not_held_against_it(self, place: Place) -> None:
        """What is bad at one poll and good at the next was never refused."""
        watch = place.watch()
        place.write(json.dumps(TWO)[:20])
        await watch.poll()
        place.write(TWO)
        await watch.poll()
        assert place.loads == [("two", "accepted")]
        assert place.reloads("refused") == 0

    async def test_every_new_bad_content_is_recorded(self, place: Place) -> None:
        """And a return to the policy in force is not recorded."""
        watch = place.watch()
        for content in (BAD, "{", ONE, BAD):
            place.write(content)
            await watch.poll()
            await watch.poll()
        assert [status for _, status in place.loads] == ["refused"] * 3
        assert watch.in_force.bound.policy.id == "one"

    async def test_a_file_that_is_gone_is_a_bad_one(self, place: Place) -> None:
        """Until it is there again."""
        watch = place.watch()
        place.path.unlink()
        await watch.poll()
        await watch.poll()
        assert place.loads == [("(unread)", "refused")]
        place.write(TWO)
        await watch.poll()
        assert watch.in_force.bound.policy.id == "two"

    async def test_the_links_of_a_mounted_configmap_are_followed(self, tmp_path: Path) -> None:
        """The swap is a rename of the link to a directory; relative paths stay where they were."""
        policies = {
            "first": {**ONE, "allow": ["files.list"], "scopes": {"files": {"allowlist": ["./x"]}}},
            "second": {**TWO, "allow": ["files.list"], "scopes": {"files": {"allowlist": ["./x"]}}},
        }
        for name, policy in policies.items():
            (tmp_path / f"..{name}").mkdir()
            (tmp_path / f"..{name}" / "policy.json").write_text(json.dumps(policy))
        (tmp_path / "..data").symlink_to("..first")
        (tmp_path / "policy.json").symlink_to("..data/policy.json")
        watch = Place(tmp_path / "policy.json").watch()
        before = watch.in_force.bound.terms["files.list"].scope
        (tmp_path / "..data_tmp").symlink_to("..second")
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")
        await watch.poll()
        assert watch.in_force.bound.policy.id == "two"
        assert watch.in_force.bound.terms["files.list"].scope == before

    async def test_a_directory_that_was_replaced_is_found(self, tmp_path: Path) -> None:
        """By its name, regardless of the result of the one before."""
        (tmp_path / "live").mkdir()
        place = Place(tmp_path / "live" / "policy.json")
        place.write(ONE)
        watch = place.watch()
        (tmp_path / "live").rename(tmp_path / "old")
        (tmp_path / "live").mkdir()
        place.write(TWO)
        await watch.poll()
        assert watch.in_force.bound.policy.id == "two"

    async def test_a_change_that_cannot_be_recorded_does_not_come_into_force(
        self, place: Place
    ) -> None:
        """It is tried again at the next poll."""
        watch = place.watch()
        place.write(TWO)
        place.audit.is_full = True
        with pytest.raises(AuditError):
            await watch.poll()
        assert watch.in_force.bound.policy.id == "one"
        place.audit.is_full = False
        await watch.poll()
        assert watch.in_force.bound.policy.id == "two"

    async def test_a_relative_path_does_not_follow_the_program(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Its file is the one that was read at the start."""
        monkeypatch.chdir(tmp_path)
        place.path = Path("policy.json")
        watch = place.watch()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "policy.json").write_text(json.dumps(TWO))
        monkeypatch.chdir(tmp_path / "elsewhere")
        await watch.poll()
        assert watch.in_force.bound.policy.id == "one"

    async def test_the_watch_outlives_a_failure(
        self, place: Place, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Logged for the operator and counted, and the next poll takes place."""
        watch = place.watch()
        watch.poll_s = 0.001
        place.write(TWO)
        place.audit.is_full = True
        with caplog.at_level(logging.ERROR):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch.run)
                while not place.reloads("failed"):
                    await anyio.lowlevel.checkpoint()
                place.audit.is_full = False
                await place.audit.loaded.wait()
                tasks.cancel_scope.cancel()
        assert watch.in_force.bound.policy.id == "two"
        assert "is tried again" in caplog.text


@asynccontextmanager
async def opened(place: Place, policy: Any = None, **more: Any) -> AsyncIterator[Runtime]:
    async with Runtime(
        policy,
        registry=builtin_registry(),
        audit=place.audit,
        metrics=Metrics(place.samples),
        **more,
    ) as runtime:
        place.audit.loaded = anyio.Event()
        yield runtime


MUL = "(await caps.math.multiply(a=2, b=3)).result"


class TestRuntime:
    async def test_new_executions_get_the_new_policy_and_running_ones_keep_theirs(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The variable's file is watched by default; a session keeps its revision."""
        monkeypatch.setenv("CAPS_POLICY_PATH", str(place.path))
        async with opened(place) as runtime, runtime.session() as session:
            assert not (await runtime.run(MUL)).ok
            place.write(TWO)
            with anyio.fail_after(60):
                await place.audit.loaded.wait()
            assert (await runtime.run(MUL)).unwrap() == 6
            assert not (await session.run(MUL)).ok
            assert runtime.policy.policy.id == "two"
            async with runtime.session() as later:
                assert (await later.run(MUL)).unwrap() == 6
        assert place.loads == [("one", "accepted"), ("two", "accepted")]

    async def test_a_path_is_watched_when_asked_to(self, place: Place) -> None:
        """`watch=True`."""
        async with opened(place, place.path, watch=True) as runtime:
            place.write(TWO)
            with anyio.fail_after(60):
                await place.audit.loaded.wait()
            assert (await runtime.run(MUL)).unwrap() == 6

    @pytest.mark.parametrize("source", [{}, None])
    async def test_what_is_no_file_cannot_be_watched(
        self, place: Place, source: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Requesting it is an error, not ignored."""
        monkeypatch.delenv("CAPS_POLICY_PATH", raising=False)
        with pytest.raises(ConfigurationError, match="`watch` needs a policy from a file"):
            async with opened(place, source, watch=True):
                pass

    async def test_a_bad_policy_refuses_to_start(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The last good one is that of a runtime, not of a disk."""
        place.write(BAD)
        monkeypatch.setenv("CAPS_POLICY_PATH", str(place.path))
        with pytest.raises(PolicyInvalidError):
            async with opened(place):
                pass

    async def test_a_closed_runtime_has_no_policy_in_force(self, place: Place) -> None:
        """Its sample is removed with it."""
        async with opened(place, place.path):
            labels = {"policy_id": "one", "policy_sha256": _sha256(place)}
            assert place.samples.get_sample_value("caps_policy_info", labels) == 1
        assert place.samples.get_sample_value("caps_policy_info", labels) is None

    async def test_a_rule_in_dry_run_lets_through_and_says_so(self, place: Place) -> None:
        """In the record, in the result and in a metric."""
        tried = {"rule": "math.multiply", "mode": "dry_run"}
        async with opened(place, {**TWO, "deny": [tried]}) as runtime:
            result = await runtime.run(f"await caps.math.add(a=1, b=1)\n{MUL}")
        assert result.unwrap() == 6
        assert [each.dry_run_rule for each in result.decisions] == [None, "math.multiply"]
        told = [getattr(event, "dry_run_rule", None) for event in place.audit.events]
        assert [rule for rule in told if rule] == ["math.multiply"]
        labels = {"capability": "math.multiply"}
        assert place.samples.get_sample_value("caps_policy_dry_run_denied_total", labels) == 1


def _sha256(place: Place) -> str:
    return builtin_registry().bind(str(place.path)).policy.sha256
