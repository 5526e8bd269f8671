# `asend` and `aclose` of an asynchronous generator
async def echo():
    got = yield "ready"
    while True:
        got = yield got


async def main():
    generator = echo()
    first = await generator.asend(None)
    second = await generator.asend(5)
    await generator.aclose()
    return first, second


assert await main() == ("ready", 5)
