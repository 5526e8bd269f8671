"""Read the callbacks of an exit stack."""

# stopped: raises AttributeError
# because: has no private attributes

from contextlib import ExitStack
take(ExitStack()._exit_callbacks)
escaped()
