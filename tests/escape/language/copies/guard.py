"""Copy a guard with all that it knows."""

# stopped: harmless

import copy, decimal

class Context(decimal.Context): pass
Context().flags  # kept by the guard

for function in (getattr, setattr, vars, dir, eval, exec, globals):
    for copied in (copy.copy(function), copy.deepcopy(function), copy.deepcopy([function])[0]):
        if copied is not function:
            escaped()
