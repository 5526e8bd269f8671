"""Stand-ins for library types written in C that fail if user code re-enters them.

Such a type calls user code (a key's `__eq__`, an iterator) in the middle of an operation, and does
not expect that this code uses the same object: it then works with freed memory. A stand-in is
written in Python, or passes only what runs no user code to the library's own type.
"""
