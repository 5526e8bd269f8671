# what: `except*` over a group of one's own class
# why: the interpreter takes what its `split` gives for a tuple without looking
# raises: TypeError: `except*` handles plain exception groups only
class G(ExceptionGroup): ...
try:
    raise G("g", [ValueError()])
except* ValueError: ...
