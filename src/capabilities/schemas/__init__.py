"""JSON Schemas of functions: compiled, and bounded if they come from outside; patterns."""
