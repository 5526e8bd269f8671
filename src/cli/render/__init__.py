"""What a command gives out: tables and records for a terminal, artifacts as files. Reads no log."""
