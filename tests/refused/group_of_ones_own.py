# what: `except*` over an instance of the code's own exception group class
# why: the interpreter assumes without a check that its `split` returns a tuple
# raises: TypeError: `except*` handles plain exception groups only
class G(ExceptionGroup): ...
try:
    raise G("g", [ValueError()])
except* ValueError: ...
