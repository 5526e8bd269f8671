# a token of a context variable is of one context
import contextvars

level = contextvars.ContextVar("level", default=0)
context = contextvars.copy_context()
token = context.run(level.set, 1)
try:
    level.reset(token)
    raise AssertionError
except ValueError as error:
    assert "different Context" in str(error)
assert context[level] == 1
context.run(level.reset, token)
assert level not in context
