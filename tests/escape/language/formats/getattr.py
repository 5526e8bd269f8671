"""Get the real `str.format` by `getattr`."""

# stopped: raises ValueError
# because: a format cannot read attributes

take(getattr('{0.__class__}', 'format')(1))
escaped()
