"""Have the report follow errors in a circle."""

# stopped: raises ValueError
# because: first

first, second = ValueError("first"), ValueError("second")
first.__cause__, second.__cause__ = second, first
raise first
