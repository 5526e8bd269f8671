"""What an embedding program hands over, checked at the door.

What is of a wrong type comes up deep inside otherwise, or in every call later on, where nobody
knows which argument it was. Here it is told in one line that names the argument.
"""

from __future__ import annotations

from caps.protocol.errors import CallerFault, ConfigurationError

_SHOWN = 80


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
    number = value if isinstance(value, int) and not isinstance(value, bool) else least - 1
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"a whole number from {least} to {most}"
        raise ConfigurationError(f"{name} is `{value!r:.{_SHOWN}}`; set {bounds}")


def refuse_unless_seconds(name: str, value: object) -> None:
    """A ConfigurationError unless `value` is a time that can be waited for."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else -1
    if not 0 <= number < float("inf"):
        raise ConfigurationError(f"{name} is `{value!r:.{_SHOWN}}`; set a number of seconds")


def can(value: object, *methods: str) -> bool:
    """Whether an instance (a class is none) has all of these methods."""
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in methods
    )
