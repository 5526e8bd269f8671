# `asyncio.Barrier` that tasks pass several times
import asyncio

rounds = []


async def worker(barrier, name):
    for turn in range(3):
        await barrier.wait()
        rounds.append(turn)


async def main():
    barrier = asyncio.Barrier(3)
    await asyncio.gather(*(worker(barrier, name) for name in "abc"))
    assert barrier.n_waiting == 0 and not barrier.broken


asyncio.run(main())
assert rounds == [0, 0, 0, 1, 1, 1, 2, 2, 2]
