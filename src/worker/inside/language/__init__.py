"""The language layer: the transformer, the guards that it emits, and the names that code may use.

No module facades.
"""
