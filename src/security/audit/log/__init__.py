"""Writing the log: batches, segments, rotation, maintenance.

Everything that reads it back is elsewhere.
"""
