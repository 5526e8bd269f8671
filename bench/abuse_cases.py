"""What the abusers of `abuse.py` run, and what the honest session runs meanwhile."""

from __future__ import annotations

# A path of 4,000 characters that means the directory itself.
_LONG = "'sub/../' * 570"
_MANY = """import asyncio
await asyncio.gather(*({call} for _ in range({count})), return_exceptions=True)
"""

CASES = {
    "list": _MANY.format(call=f"caps.files.list(path={_LONG})", count=64),
    "list_full": _MANY.format(call="caps.files.list(path='.')", count=64),
    "read": _MANY.format(call="caps.files.read(path='large')", count=64),
    "print_small": (
        "import sys\nfor _ in range(200_000):\n    print('x', end='')\n    sys.stdout.flush()"
    ),
    "print_wide": "print('\\U0001F600' * 262_000)",
    "print_huge": "print('x' * 50_000_000)",
    "result_large": "['x' * 40] * 90_000",
    "result_text": "'x' * 15_000_000 + '\\U0001F600'",
    "items_list": "v = [[]] * 90_000\n" + _MANY.format(call="caps.probe.any(value=v)", count=64),
    "items_floats": "v = [0.5] * 90_000\n" + _MANY.format(call="caps.probe.any(value=v)", count=16),
    "items_keys": _MANY.format(
        call="caps.probe.any(value=dict.fromkeys(map('k{}'.format, range(49_000))))", count=18
    ),
    "items_names": (
        "v = dict.fromkeys(map('\\u00e9{}'.format, range(49_000)), 0.5)\n"
        + _MANY.format(call="caps.probe.any(value=v)", count=18)
    ),
    "items_refused": _MANY.format(call="caps.probe.number(value=[[1.5]] * 49_000)", count=18),
    "text": (
        "v = 'x' * 7_000_000 + '\\U0001F600'\n"
        + _MANY.format(call="caps.probe.any(value=v)", count=6)
    ),
    "answers": _MANY.format(call="caps.probe.much(items=90_000)", count=64),
    "calls": _MANY.format(call="caps.math.add(a=1, b=2)", count=900),
    "inline_answers": _MANY.format(call="caps.probe.text(characters=1_000_000)", count=64),
    "keyed_answers": _MANY.format(
        call="caps.files.read.options(idempotency_key=str(_))(path='large')", count=64
    ),
    "print_calls": "for _ in range(900):\n    print('x' * 1000)\n    await caps.math.add(a=1, b=2)",
    "mixed": (
        "import asyncio\n"
        "wide = 'x' * 7_000_000 + '\\U0001F600'\n"
        "keys = dict.fromkeys(map('k{}'.format, range(49_000)))\n"
        "async def some(n):\n"
        "    print('\\U0001F600' * 3_000)\n"
        "    match n % 6:\n"
        "        case 0: await caps.probe.any(value=wide if n < 6 else keys)\n"
        "        case 1: await caps.probe.much(items=90_000)\n"
        "        case 2: await caps.files.list(path='.')\n"
        "        case 3: await caps.probe.text(characters=1_000_000)\n"
        "        case 4: await caps.files.read.options(idempotency_key=str(n))(path='large')\n"
        "        case 5: await caps.probe.any(value=keys)\n"
        "await asyncio.gather(*map(some, range(64)), return_exceptions=True)\n"
        "'x' * 7_000_000 + '\\U0001F600'\n"
    ),
}
STREAMED = "mixed_unread"
FRAMES = "frames"
# Attacks on the channel that send much; each round runs the next one of them.
FRAME_ATTACKS = (
    "oversized/payload_items",
    "oversized/payload_bottomless",
    "oversized/largest_output",
    "oversized/fields",
    "oversized/number",
    "garbage/result_that_claims_items",
    "truncated/payload_items",
    "floods/frames_of_nothing",
)
FLOODS = "floods"
# Those that go on until a limit ends them, which takes half a minute.
FLOOD_ATTACKS = ("floods/requests_unanswered", "floods/empty_output")

HONEST = """
import asyncio, time
waits = []
for _ in range(20):
    began = time.perf_counter()
    await caps.math.add(a=2, b=3)
    waits.append(time.perf_counter() - began)
    await asyncio.sleep(0.002)
waits
"""
