"""Have an instance's slot for the positions of its class."""

# stopped: raises TypeError
# because: `__match_args__` cannot be a slot

class C:
    __slots__ = ("__match_args__",)
