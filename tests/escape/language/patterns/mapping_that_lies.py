"""Get a mapping's insides by a pattern that looks for keys."""

# stopped: harmless

from collections.abc import Mapping

class Lying(Mapping):
    def __getitem__(self, key): raise KeyError
    def get(self, key, default=None): take(default); return default
    def __iter__(self): return iter(())
    def __len__(self): return 1

match Lying():
    case {"a": found}:
        take(found)
