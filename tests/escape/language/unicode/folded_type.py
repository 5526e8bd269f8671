"""Spell `type` by letters that are folded, and bind it."""

# stopped: harmless

ｔype = lambda value: take(value)
type(1)
