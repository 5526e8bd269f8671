"""Read the callbacks that a stack keeps."""

# stopped: harmless

from contextlib import ExitStack
class Mine(ExitStack): pass
mine = Mine()
mine.callback(take)
for kept in mine._exit_callbacks:
    take(list(kept))
    take(getattr(kept[1], "__wrapped__", None))
None
