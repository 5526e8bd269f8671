"""Read attributes by the older way of formatting."""

# stopped: harmless

class Lying(dict):
    def __getitem__(self, key): take(key); return secret
"%(a._hidden)s" % Lying() == "loot"
