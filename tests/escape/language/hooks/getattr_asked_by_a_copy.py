"""Answer a library's question for `__deepcopy__` with a function that sees its memory."""

# stopped: harmless

import copy

class C:
    def __getattr__(self, name):
        def answer(*args):
            take(list(args))
            escaped()
        return answer

copy.deepcopy(C())
copy.copy(C())
None
