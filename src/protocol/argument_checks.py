"""What an embedding program hands over, checked at the door.

What is of a wrong type comes up deep inside otherwise, or in every call later on, where nobody
knows which argument it was. Here it is told in one line that names the argument.
"""

from __future__ import annotations

from caps.protocol.errors import CallerFault, ConfigurationError


def refuse_unless(
    fits: bool,
    name: str,
    value: object,
    wanted: str,
    error: type[CallerFault] = ConfigurationError,
) -> None:
    """An `error` unless what was handed over as `name` is what is wanted."""
    if not fits:
        raise error(f"{name} is of type `{type(value).__name__}`; hand over {wanted}")


def refuse_unless_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """A ConfigurationError unless `value` is a whole number within these bounds."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    wanted = f"a whole number {bounds}"
    refuse_unless(isinstance(value, int) and not isinstance(value, bool), name, value, wanted)
    assert isinstance(value, int)
    if value < least or (most is not None and value > most):
        raise ConfigurationError(f"{name} is `{value}`; set {wanted}")


def refuse_unless_seconds(name: str, value: object) -> None:
    """A ConfigurationError unless `value` is a time that can be waited for."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    refuse_unless(fits, name, value, "a number of seconds")
    assert isinstance(value, (int, float))
    if not 0 <= value < float("inf"):
        raise ConfigurationError(f"{name} is `{value}`; set a number of seconds, 0 or more")


def can(value: object, *methods: str) -> bool:
    """Whether an instance (a class is none) has all of these methods."""
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in methods
    )
