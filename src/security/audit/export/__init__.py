"""Records in the formats of other systems. Reads nothing itself."""
