"""Records as values and as bytes: kinds, redaction, canonical encoding, hash chain. No files."""
