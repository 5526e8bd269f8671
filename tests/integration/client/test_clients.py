"""Both clients against a real service: typed answers, streams, waiting, versions, errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps.client import (
    AsyncClient,
    ChangedError,
    Client,
    ClientSettings,
    NotAllowedError,
    NotFoundError,
    NotSignedInError,
    RequestInvalidError,
    WaitTimeoutError,
)
from support.cutting_relay import cutting_relay
from support.service_process import ServiceProcess, token

SLOW = "import asyncio\nprint('begun')\nawait asyncio.sleep(50)"


class TestClient:
    def test_code_runs_and_its_result_is_typed(self, client: Client) -> None:
        """With inputs and arguments; a value that JSON does not have is shown as Python does."""
        done = client.run("import sys\nprint(n)\n(n, sys.argv[1:])", inputs={"n": 4}, argv=["a"])
        assert done.status == "finished"
        assert done.result is not None
        assert (done.result.value, done.result.stdout) == ([4, ["a"]], "4\n")
        assert (done.result.value_spelling, done.result.value_shown) == ("converted", "(4, ['a'])")

    def test_a_failure_says_where(self, client: Client) -> None:
        """As the library does."""
        done = client.run("x = 1\n1 / 0", filename="a.py")
        assert done.result is not None
        assert done.result.error is not None
        failure = done.result.error
        assert (failure.type, failure.filename, failure.line) == ("ZeroDivisionError", "a.py", 2)

    def test_events_come_in_order_until_the_last(self, client: Client) -> None:
        """And from any number on."""
        begun = client.start_execution("print('a')\nawait caps.math.add(a=1, b=2)")
        found = list(client.events(begun.id))
        assert [event.number for event in found] == list(range(1, len(found) + 1))
        assert [event.kind for event in found if event.kind != "output"] == [
            "started",
            "decision",
            "finished",
        ]
        assert list(client.events(begun.id, after=2)) == found[2:]

    def test_a_stream_of_the_service_that_is_cut_goes_on(
        self, client: Client, service: ServiceProcess
    ) -> None:
        """Every event once, over connections of which the first carry a few hundred bytes."""
        begun = client.start_execution("for n in range(20):\n    print(n, flush=True)")
        expected = list(client.events(begun.id))
        port = int(service.address.rpartition(":")[2])
        with cutting_relay(port, after_bytes=400, cuts=3) as relay:
            settings = ClientSettings(first_pause_seconds=0.01, max_pause_seconds=0.02)
            with Client(relay.url, token=token(), settings=settings) as cut:
                assert list(cut.events(begun.id)) == expected
            assert relay.connections == 4

    def test_an_execution_is_waited_for_and_cancelled(self, client: Client) -> None:
        """A caller who waits no longer can still cancel it."""
        begun = client.start_execution(SLOW)
        with pytest.raises(WaitTimeoutError, match="goes on after"):
            client.wait(begun.id, seconds=0.2)
        ended = client.cancel_execution(begun.id)
        assert (ended.status, ended.is_ended) == ("cancelled", True)
        assert client.wait(begun.id) == ended
        assert client.get_execution(begun.id) == ended

    def test_an_agent_changes_only_at_the_version_that_was_read(self, client: Client) -> None:
        """The etag is that of the answer."""
        made = client.create_agent("A", capabilities={"test_math": {"tools": ["add"]}})
        assert made.capabilities == {"test_math": {"tools": ["add"]}}
        assert client.get_agent(made.id) == made
        assert made.etag is not None
        assert client.get_agent_if_changed(made.id, made.etag) is None
        changed = client.change_agent(made.id, name="B", if_match=made.etag)
        assert (changed.name, changed.description) == ("B", "")
        with pytest.raises(ChangedError) as caught:
            client.change_agent(made.id, name="C", if_match=made.etag)
        assert caught.value.problem.code == "agent_changed"
        assert client.get_agent_if_changed(made.id, made.etag) == changed
        assert "add" in client.get_effective_agent(made.id).stubs
        client.delete_agent(made.id, if_match=changed.etag)
        with pytest.raises(NotFoundError):
            client.get_agent(made.id)

    def test_a_policy_can_be_taken_away(self, client: Client) -> None:
        """None is a value; what is not named stays."""
        made = client.create_agent("A", policy={"version": 1, "id": "own"})
        assert client.change_agent(made.id, description="x").policy == made.policy
        assert client.change_agent(made.id, policy=None).policy is None

    def test_lists_are_iterated_page_by_page(self, client: Client) -> None:
        """Every item once."""
        made = [client.create_agent(f"page {n}").id for n in range(5)]
        found = [agent.id for agent in client.agents(limit=2)]
        assert len(found) == len(set(found))
        assert set(made) <= set(found)
        done = client.run("1")
        assert next(iter(client.executions(limit=1))).id == done.id

    def test_a_call_is_a_result_also_if_it_is_refused(self, client: Client) -> None:
        """With the error that code would see."""
        done = client.call("math.add", {"a": 1, "b": 2})
        assert (done.ok, done.value) == (True, {"result": 3})
        refused = client.call("files.read", {"path": "x"})
        assert refused.error is not None
        assert (refused.ok, refused.error.code) == (False, "policy_denied")

    def test_problems_are_typed_errors(self, client: Client, service: ServiceProcess) -> None:
        """With the stable code and the place."""
        with pytest.raises(RequestInvalidError) as caught:
            client.create_agent("A", capabilities={"test_math": {"tools": ["ad"]}})
        assert caught.value.problem.code == "agent_invalid"
        assert caught.value.problem.path == "capabilities.test_math.tools[0]"
        with (
            Client(service.address, token=token(role="viewer")) as viewer,
            pytest.raises(NotAllowedError, match="needs the role `runner`"),
        ):
            viewer.run("1")
        with (
            Client(service.address, token=token(secret="x" * 40)) as nobody,
            pytest.raises(NotSignedInError),
        ):
            nobody.list_capabilities()

    def test_operation(self, client: Client) -> None:
        """Health, metrics, the description and the catalogue."""
        client.check_alive()
        client.check_ready()
        assert "caps_" in client.get_metrics()
        assert client.get_description()["openapi"].startswith("3.")
        first = client.list_capabilities().items[0]
        assert client.get_capability(first.id).tools != ()

    def test_a_token_file_is_read_again(self, service: ServiceProcess, tmp_path: Path) -> None:
        """A token that is renewed is used from the next request on."""
        file = tmp_path / "token"
        file.write_text(token(sub="old"))
        with Client(service.address, token_file=file) as client:
            assert client.run("1").principal == "old"
            file.write_text(token(sub="new") + "\n")
            assert client.run("1").principal == "new"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
class TestAsyncClient:
    async def test_it_does_the_same(self, service: ServiceProcess) -> None:
        """On asyncio and on trio."""
        async with AsyncClient(service.address, token=token()) as client:
            done = await client.run("print('a')\n6 * 7")
            assert done.result is not None
            assert done.result.value == 42
            events = [event async for event in client.events(done.id)]
            assert events[-1].kind == "finished"
            made = await client.create_agent("async")
            assert made.id in [agent.id async for agent in client.agents(limit=2)]
            with pytest.raises(NotFoundError):
                await client.get_agent("00000000-0000-0000-0000-000000000000")
            assert (await client.call("math.add", {"a": 1, "b": 2})).value == {"result": 3}
            begun = await client.start_execution(SLOW)
            assert (await client.cancel_execution(begun.id)).status == "cancelled"
