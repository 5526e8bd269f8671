"""Read a function of the library behind one that `wraps` or a cache made."""

# stopped: harmless

import functools, copy, textwrap, contextlib, dataclasses
@dataclasses.dataclass
class D:
    _x: int = 1
made = [functools.lru_cache(copy.copy), functools.wraps(textwrap.dedent)(lambda: 0), D.__init__, D.__repr__,
        contextlib.contextmanager(copy.copy), functools.cache(print)]
for value in made:
    for name in ("__wrapped__", "__func__", "__self__"):
        try:
            take(getattr(value, name))
            escaped()
        except AttributeError:
            pass
None
