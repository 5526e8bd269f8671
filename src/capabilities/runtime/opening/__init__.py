"""Opening a runtime: its settings, its parts, and what happens to its policies while it is open.

Nothing here runs code; what an open runtime does is in the folder above.
"""
