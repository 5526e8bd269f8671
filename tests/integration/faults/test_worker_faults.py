"""Faults of workers and their zygote, on real processes: whatever dies, the result says what ran.

Processes are killed at chosen moments, and the next execution always works.
"""

from __future__ import annotations

import os
import resource
import signal

import anyio
import anyio.lowlevel
import pytest

from caps.capabilities.runtime.result import ExecutionResult
from caps.worker.host.supervisor import exit_reasons
from caps.worker.host.zygote import process as zygote_process
from caps.worker.host.zygote.source import ForkedWorker, ZygoteSource
from support.observed_runtime import ObservedRuntime, observed_runtime, worker_loss
from support.processes import children, has_ended, kill, lowered_limit, open_pidfds

pytestmark = pytest.mark.anyio

ENDLESS = "await caps.host.meet()\nwhile True: pass"


class TestTheZygote:
    @pytest.mark.parametrize("which", ["zygote", "started_process"])
    async def test_killed_while_idle_is_replaced(self, which: str) -> None:
        """Everything that it forked dies with it; the next execution starts a new one."""
        async with observed_runtime() as host:
            assert await host.works()
            first = host.zygote
            with open_pidfds(first, *children(first)) as family:
                os.kill(getattr(host, which), signal.SIGKILL)
                for process in family:
                    await anyio.wait_readable(process)
            assert await host.works()
            assert host.zygote != first

    async def test_killed_just_before_an_execution_does_not_fail_it(self) -> None:
        """The host does not know yet: the spare has exited, and a new zygote runs the code."""
        async with observed_runtime() as host:
            for _ in range(3):
                assert await host.works()
                with open_pidfds(host.zygote) as (zygote,):
                    kill(zygote)
                    assert has_ended(zygote, within_seconds=20)  # blocks: no task runs meanwhile
                assert await host.works()

    async def test_killed_unnoticed_is_replaced_for_the_caller_that_orders_a_worker(self) -> None:
        """The fork order fails, and is sent to a new zygote."""
        source = ZygoteSource()
        async with source.open():
            for _ in range(3):
                assert source._zygote is not None
                with open_pidfds(*children(source._zygote.pid)) as (zygote,):
                    kill(zygote)
                    assert has_ended(zygote, within_seconds=20)  # blocks: no task runs meanwhile
                worker = await source.start()
                worker.kill()
                await worker.ended()
                worker.transport.close()

    async def test_killed_while_executions_run_fails_those_that_had_started(self) -> None:
        """Each says that its code ran and its result is lost; so does the log."""
        results: list[ExecutionResult] = []

        async def run(host: ObservedRuntime) -> None:
            results.append(await host.runtime.run(ENDLESS))

        async with observed_runtime() as host:
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(run, host)
                await host.until_met(3)
                os.kill(host.zygote, signal.SIGKILL)
            assert [worker_loss(result)[:2] for result in results] == [("worker_lost", True)] * 3
            assert host.endings() == ["worker_lost"] * 3
            assert await host.works()

    async def test_that_does_not_answer_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A stopped zygote neither forks nor reaps; it is killed, and no execution fails."""
        monkeypatch.setattr(zygote_process, "_ANSWER_SECONDS", 0.2)
        monkeypatch.setattr(zygote_process, "_LEAVE_SECONDS", 0.1)
        async with observed_runtime() as host:
            assert await host.works()
            first = host.zygote
            with open_pidfds(first) as (stopped,):
                os.kill(first, signal.SIGSTOP)
                while not has_ended(stopped):
                    assert await host.works()
            assert await host.works()

    async def test_that_holds_less_than_the_one_before_is_not_used(self) -> None:
        """The check at the opening stays valid: no code runs with fewer layers than that."""
        async with observed_runtime() as host:
            assert await host.works()
            held = host.runtime.layers
            host.source._arguments = ("--without-language",)
            with open_pidfds(host.zygote) as (zygote,):
                kill(zygote)
                assert has_ended(zygote, within_seconds=20)
            _, started, message = worker_loss(await host.runtime.run("await caps.host.meet()"))
            assert (started, host.met, host.runtime.layers) == (False, 0, held)
            assert "other layers" in message
            host.source._arguments = ()
            assert await host.works()

    async def test_that_may_not_fork_refuses_cleanly_and_recovers(self) -> None:
        """The kernel's own refusal reaches the result, which says that nothing ran."""
        async with observed_runtime() as host:
            zygote = host.zygote
            with lowered_limit(zygote, resource.RLIMIT_NPROC, 0):
                failed = await host.first_failure()
            assert worker_loss(failed) == (
                "worker_lost",
                False,
                "no worker could be forked: Resource temporarily unavailable",
            )
            assert await host.works()
            assert host.zygote == zygote

    async def test_out_of_descriptors_refuses_some_and_harms_nobody_who_runs(self) -> None:
        """It has room for a few workers only; they continue while further orders are refused."""
        results: list[ExecutionResult] = []
        refused = anyio.Event()

        async def run(host: ObservedRuntime) -> None:
            result = await host.runtime.run("await caps.host.hold()\n1")
            results.append(result)
            refused.set()

        async with observed_runtime() as host:
            zygote = host.zygote
            room = 3 + len(children(zygote)) + 2  # its own, of those it has, and for one order
            with lowered_limit(zygote, resource.RLIMIT_NOFILE, room):
                async with anyio.create_task_group() as tasks:
                    for _ in range(room):
                        tasks.start_soon(run, host)
                    await refused.wait()
                    await host.until_met()
                    host.release.set()
            ran = [result for result in results if result.ok]
            assert {result.value for result in ran} == {1}
            assert {worker_loss(result)[1:] for result in results if not result.ok} == {
                (False, "no worker could be forked: Too many open files")
            }
            assert await host.works()
            assert host.zygote == zygote


class Doomed(ZygoteSource):
    """Its workers are killed as soon as they are forked."""

    async def start(self) -> ForkedWorker:
        worker = await super().start()
        worker.kill()
        return worker


class TestAWorkerKilled:
    async def test_before_it_got_its_code_never_ran(self) -> None:
        """The one that is tried in its place dies too; the result says that nothing ran."""
        async with observed_runtime(Doomed()) as host:
            status, started, message = worker_loss(await host.runtime.run("await caps.host.meet()"))
            assert (status, started, host.met) == ("worker_lost", False, 0)
            assert message.startswith("the worker was lost before it")
            assert message.endswith("(killed by SIGKILL)")

    async def test_as_a_spare_is_passed_over(self) -> None:
        """All spares at the same time, and the host is not notified before it uses one."""
        async with observed_runtime() as host:
            assert await host.works()
            os.close(await host.spare())
            for pid in children(host.zygote):
                os.kill(pid, signal.SIGKILL)
            assert await host.works()
            assert host.endings() == ["ok", "ok"]

    async def test_during_a_call_ran_and_lost_its_result(self) -> None:
        """The call in flight is cancelled, the code is not run again."""
        results: list[ExecutionResult] = []

        async def run(host: ObservedRuntime) -> None:
            results.append(await host.runtime.run("await caps.host.hold()"))

        async with observed_runtime() as host:
            worker = await host.spare()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run, host)
                await host.until_met()
                kill(worker)
            os.close(worker)
            assert worker_loss(results[0]) == (
                "worker_lost",
                True,
                "the worker was lost after its code had started (killed by SIGKILL)",
            )
            assert (host.met, await host.works()) == (1, True)

    async def test_while_it_prints_is_lost_and_is_no_violation(self) -> None:
        """Its last frame is cut in the middle; complete frames are kept."""
        async with observed_runtime() as host:
            worker = await host.spare()
            printed: list[str] = []

            def on_output(text: str) -> None:
                printed.append(text)
                kill(worker)

            result = await host.runtime.run("print('x' * (8 << 20))", on_output=on_output)
            os.close(worker)
            assert worker_loss(result)[:2] == ("worker_lost", True)
            assert result.stdout == "".join(printed) != ""
            assert len(result.stdout) < 8 << 20
            assert await host.works()

    async def test_after_its_result_was_sent_changes_nothing(self) -> None:
        """The host is slow: the worker has exited before the host reads its last message."""
        async with observed_runtime() as host:
            worker = await host.spare()
            gone: list[bool] = []

            def on_output(_text: str) -> None:
                gone.append(has_ended(worker, within_seconds=20))

            result = await host.runtime.run("print('x' * 10_000)\n5", on_output=on_output)
            os.close(worker)
            assert (gone[0], result.value, result.ok) == (True, 5, True)


class TestCancelling:
    @pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
    async def test_kills_the_worker_immediately(self) -> None:
        """When `run` has returned the process is reaped, and the log says that it was cancelled."""
        async with observed_runtime() as host:
            worker = await host.spare()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(host.runtime.run, ENDLESS)
                await host.until_met()
                assert not has_ended(worker)
                tasks.cancel_scope.cancel()
            assert has_ended(worker)
            os.close(worker)
            assert host.endings() == ["cancelled"]
            assert await host.works()

    async def test_of_a_zygote_that_is_stopped_waits_for_no_reaping(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The kill works without the zygote, and the end of the execution does not wait for it."""
        monkeypatch.setattr(exit_reasons, "_REAP_SECONDS", 0.1)
        async with observed_runtime() as host:
            zygote = host.zygote
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(host.runtime.run, ENDLESS)
                    await host.until_met()
                    os.kill(zygote, signal.SIGSTOP)
                    tasks.cancel_scope.cancel()
            finally:
                os.kill(zygote, signal.SIGCONT)
            assert host.endings() == ["cancelled"]
            assert await host.works()

    async def test_while_a_worker_is_forked_leaves_none(self) -> None:
        """The caller has left; the worker that arrives later finds nobody and exits."""
        async with observed_runtime() as host:
            zygote = host.zygote
            with lowered_limit(zygote, resource.RLIMIT_NPROC, 0):
                await host.first_failure()
            os.kill(zygote, signal.SIGSTOP)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(host.runtime.run, "1")
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            os.kill(zygote, signal.SIGCONT)
            assert await host.works()
            assert host.zygote == zygote
            while set(children(zygote)) != host.stock():
                await anyio.lowlevel.checkpoint()
        assert host.endings()[-3:] == ["worker_lost", "cancelled", "ok"]
