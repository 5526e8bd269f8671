"""Each side of a comparison: how it is got ready and how it does the work once."""
