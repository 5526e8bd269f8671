"""Who asks: bearer tokens, the keys that verify them, and roles."""
