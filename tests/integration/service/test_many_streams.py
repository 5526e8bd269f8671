"""Many clients follow one execution, and one of them reads nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from support.service_process import POLICY, ServiceProcess, running_service, token, wait_until

CLIENTS = 200
LINES = 800
# The output begins when all clients follow, because the call before it waits for an approval.
CODE = f"await caps.math.divide(1, 2)\nfor n in range({LINES}): print(n, 'x' * 1000)"


class Follower:
    """One connection that follows an execution."""

    def __init__(self, service: ServiceProcess, execution: str, number: int) -> None:
        self._place = urlsplit(service.address)
        principal = token(sub=f"reader-{number % 8}")  # each has a rate of its own
        self._request = (
            f"GET /v1/executions/{execution}/events HTTP/1.1\r\nHost: caps\r\n"
            f"Authorization: Bearer {principal}\r\nConnection: close\r\n\r\n"
        )

    async def begin(self) -> None:
        """Connect, and wait until the execution is said to have started."""
        host, port = self._place.hostname, self._place.port
        self.reader, self.writer = await asyncio.open_connection(host, port)
        self.writer.write(self._request.encode())
        self.seen = await self.reader.readuntil(b"event: started")

    async def read_to_end(self) -> bytes:
        """All events; the service ends the stream after the last one."""
        rest = await self.reader.read()
        self.close()
        return self.seen + rest

    def close(self) -> None:
        self.writer.close()


async def follow(service: ServiceProcess, execution: str, approve: str) -> list[bytes]:
    followers = [Follower(service, execution, number) for number in range(CLIENTS)]
    slow = Follower(service, execution, 0)
    for each in (slow, *followers):
        await each.begin()
    with service.client(sub="someone-else") as client:
        answer = await asyncio.to_thread(client.post, approve, json={})
        assert answer.status_code == 200, answer.text
    async with asyncio.timeout(120):
        found = await asyncio.gather(*(each.read_to_end() for each in followers))
    slow.close()  # it has read nothing of the output
    return found


def test_two_hundred_clients_follow_and_a_slow_one_delays_none(tmp_path: Path) -> None:
    """All others get every event, while one connection reads nothing."""
    policy = {**POLICY, "limits": {"wall_ms": 300_000, "cpu_ms": 60_000, "approval_ms": 200_000}}
    store = f"sqlite:///{tmp_path}/caps.db"
    with (
        running_service(tmp_path, store, policy=policy) as service,
        service.client() as client,
    ):
        begun = client.post("/v1/executions", json={"code": CODE, "wait": False}).json()
        wait_until(lambda: client.get("/v1/approvals").json()["items"])
        approval = client.get("/v1/approvals").json()["items"][0]["id"]
        allow = f"/v1/approvals/{approval}/allow"
        streams = asyncio.run(follow(service, begun["id"], allow))
        for each in streams:
            output, finished, _ = each.partition(b"event: finished")
            assert finished
            assert output.count(b"x" * 1000) == LINES
        assert client.get(f"/v1/executions/{begun['id']}").json()["result"]["ok"] is True
