"""Answer every question that libraries ask an object, and see whether one hands something over."""

# stopped: harmless

import contextlib, copy, dataclasses, functools, json, operator, pprint, statistics, typing

class C:
    def __getattr__(self, name):
        if name.startswith("__"):
            escaped()
        raise AttributeError(name)

for ask in (
    json.dumps, pprint.pformat, copy.copy, copy.deepcopy, operator.index, operator.length_hint,
    dataclasses.is_dataclass, functools.partial, functools.wraps(C()), typing.final,
    contextlib.ExitStack().push, typing.get_origin, functools.singledispatch, statistics.mean,
    typing.overload, functools.cached_property, typing.runtime_checkable,
):
    try:
        ask(C())
    except Exception:
        pass
None
