"""Files of an audit directory: reading, locking, keys, the end of a segment.

Knows nothing of sinks.
"""
