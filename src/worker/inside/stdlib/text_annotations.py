"""(4) `ClassVar`, `InitVar` and `KW_ONLY` in annotations that are strings.

Under `from __future__ import annotations` the library looks such a name up in the module of the
class. Here that would be a module of ours, where the names of user code mean nothing, and each of
the three would silently become a field. So they are looked up in the globals of user code. Nothing
is evaluated.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from caps.worker.inside.facades.facade import Facade
from caps.worker.inside.language.private_attributes import OWN_GUARD

_SPECIAL: Final = (typing.ClassVar, dataclasses.InitVar, dataclasses.KW_ONLY)
# `ClassVar`, `typing.ClassVar`, each possibly with something behind it, as in the library.
_NAME: Final = re.compile(r"(?:\s*(\w+)\s*\.)?\s*(\w+)")


@contextmanager
def special_annotations(cls: type) -> Iterator[None]:
    """Inside, the annotations of `cls` that name one of the three are that object, not a string."""
    annotations = inspect.get_annotations(cls)
    texts = {name: text for name, text in annotations.items() if type(text) is str}
    variables = _user_globals() if texts else {}
    found = {name: _find(text, variables) for name, text in texts.items()}
    special = {name: value for name, value in found.items() if value is not None}
    if not special:
        yield
        return
    # Not in place: with `slots=True` the library makes the class again, from the same attributes.
    real: Any = cls
    real.__annotations__ = {**annotations, **special}
    try:
        yield
    finally:
        real.__annotations__.update({name: texts[name] for name in special})


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
