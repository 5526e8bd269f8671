"""Checking that a log is what was written, and proofs of single records. Writes nothing."""
