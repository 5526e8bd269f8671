"""Get the fields of a library's object by a factory."""

# stopped: raises TypeError
# because: asdict() should be called on dataclass instances

from dataclasses import asdict
asdict(secret, dict_factory=take)
escaped()
