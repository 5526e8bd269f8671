"""(4) Annotations that are not evaluated: strings, and names that are not defined yet.

Under `from __future__ import annotations` the library looks `ClassVar`, `InitVar` and `KW_ONLY` up
in the module of the class. Here that would be a module of ours, where the names of user code mean
nothing, and each of the three would silently become a field. So they are looked up in the globals
of user code. Nothing is evaluated.

From Python 3.14 on, the library evaluates annotations when it needs them, and a name that is not
defined, such as that of the class itself, becomes a forward reference. Evaluating runs user code,
so it is done before the library has begun.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import typing
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final

from caps.worker.inside.facades.facade import Facade
from caps.worker.inside.language.private_attributes import OWN_GUARD

if sys.version_info >= (3, 14):
    import annotationlib

_SPECIAL: Final = (typing.ClassVar, dataclasses.InitVar, dataclasses.KW_ONLY)
# `ClassVar`, `typing.ClassVar`, each possibly with something behind it, as in the library.
_NAME: Final = re.compile(r"(?:\s*(\w+)\s*\.)?\s*(\w+)")


def annotations_of(value: Any) -> dict[str, Any]:
    """The annotations of a class or function; a name that is not defined is a forward reference."""
    if sys.version_info >= (3, 14):
        return annotationlib.get_annotations(value, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(value)


def with_plain_annotations(cls: type, make: Callable[[], type]) -> type:
    """Call `make`, which makes a dataclass of `cls`, while its annotations are plain values.

    Those that name one of the three special objects are that object, not a string.
    """
    annotations = annotations_of(cls)
    texts = {name: text for name, text in annotations.items() if type(text) is str}
    variables = _user_globals() if texts else {}
    found = {name: _find(text, variables) for name, text in texts.items()}
    special = {name: value for name, value in found.items() if value is not None}
    evaluate = getattr(cls, "__annotate__", None)
    if not special and evaluate is None:
        return make()
    # Not in place: with `slots=True` the library makes the class again, from the same attributes.
    real: Any = cls
    real.__annotations__ = {**annotations, **special}
    made: Any = cls
    try:
        made = make()
    finally:
        for each in (real, made):
            if evaluate is None:
                each.__annotations__.update({name: texts[name] for name in special})
            else:
                each.__annotate__ = evaluate
    return made  # type: ignore[no-any-return]


def _find(text: str, variables: Mapping[str, Any]) -> Any:
    match = _NAME.match(text)
    if match is None:
        return None
    module, name = match.groups()
    owner = variables.get(module)
    if module is None:
        value = variables.get(name)
    else:
        value = getattr(owner, name, None) if isinstance(owner, Facade) else None
    return next((one for one in _SPECIAL if value is one), None)


def _user_globals() -> Mapping[str, Any]:
    """The globals of the innermost frame of user code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and OWN_GUARD not in frame.f_builtins:
        frame = frame.f_back
    return {} if frame is None else frame.f_globals
