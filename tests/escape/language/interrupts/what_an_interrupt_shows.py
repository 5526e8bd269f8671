"""Look in the error of an interrupt for frames, objects and functions of the handler."""

# stopped: limited
# where: worker

import asyncio
import sys
import time
import traceback

def look(error):
    take([error, error.args, error.__cause__, error.__context__, type(error)])
    take(list(error.args))
    for name in ("__traceback__", "tb_frame", "f_back", "f_locals", "f_trace", "__dict__"):
        try:
            take(getattr(error, name))
        except AttributeError:
            pass
    shown = "".join(traceback.format_exception(error))
    for ours in ("on_signal", "interrupts", "_trace", "caps/worker", "_Woken"):
        if ours in shown:
            escaped()
    take(list(sys.exc_info()[:2]))

try:
    while True:
        n = 1
except BaseException as error:
    look(error)
try:
    time.sleep(600)
except BaseException as error:
    look(error)
try:
    await asyncio.sleep(600)
except BaseException as error:
    look(error)
