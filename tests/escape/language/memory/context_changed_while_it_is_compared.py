"""Change a context while it is compared, and so free the values that are compared."""

# stopped: harmless
# where: worker

import contextvars


class Value:
    def __eq__(self, other):
        for context in (first, second):
            for variable in variables:
                context.run(variable.set, 0)
        bytearray(100)
        return True


variables = [contextvars.ContextVar(str(number)) for number in range(100)]
for _ in range(50):
    first, second = contextvars.copy_context(), contextvars.copy_context()
    for context in (first, second):
        for variable in variables:
            context.run(variable.set, Value())
    if first == second:
        escaped()
