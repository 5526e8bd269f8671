"""Empty a cache while a key of it is compared."""

# stopped: harmless

import functools
class C:
    def __hash__(self): return 1
    def __eq__(self, other): cached.cache_clear(); return False
@functools.lru_cache(2)
def cached(key): return key
for _ in range(20):
    cached(C())
None
