"""Put the slot of its own class into a library's."""

# stopped: raises TypeError
# because: descriptor '_hidden' for 'C' objects doesn't apply to a 'Secret' object

class C:
    __slots__ = ("_hidden",)
type(secret).shown = vars(C)["_hidden"]
secret.shown
escaped()
