"""Throw an error of its own into a coroutine of ours, and look at where it was."""

# stopped: raises AttributeError
# because: `tb_frame` reaches into the interpreter

import asyncio
waiting = asyncio.sleep(1)
try:
    waiting.throw(ValueError())
except ValueError as error:
    take(error.__traceback__)
    take(getattr(error.__traceback__, "tb_frame"))
