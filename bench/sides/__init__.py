"""Each side of a comparison: how it is prepared, and how it does the work once."""
