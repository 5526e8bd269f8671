"""Change a builtin type."""

# stopped: raises TypeError
# because: cannot set 'x' attribute of immutable

str.x = 1
escaped()
