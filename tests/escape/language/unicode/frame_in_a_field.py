"""Have a dataclass read the frame of a coroutine of ours by a field that the compiler folds."""

# stopped: raises ValueError
# because: 'ｃr_frame' cannot be the name of a field

import asyncio
import dataclasses
import typing

class Descriptor:
    def __set_name__(self, owner, name): pass

Fields = typing.TypedDict("Fields", {"ｃr_frame": int})
Descriptor().__set_name__(Fields, "x")
Made = dataclasses.dataclass(init=False)(Fields)
coroutine = asyncio.sleep(1)
try:
    if "frame at" in Made.__repr__(coroutine):
        escaped()
finally:
    coroutine.close()
