"""Read the objects of errors that libraries raise and catch themselves."""

# stopped: harmless

import contextlib, copy, functools, json, pprint
for call in (
    lambda: contextlib.ExitStack().enter_context(1), lambda: contextlib.closing(1).__exit__(),
    lambda: copy.copy(x for x in ()), lambda: functools.singledispatch(1),
    lambda: functools.partialmethod(1), lambda: json.load(1), lambda: json.dump({}, 1),
    lambda: pprint.pprint(1, 1),
):
    try:
        call()
    except Exception as error:
        while error is not None:
            take(getattr(error, "obj", None))
            error = error.__context__
None
