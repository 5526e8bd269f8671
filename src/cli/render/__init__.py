"""Tables and records as a terminal shows them. Reads no log and no policy."""
