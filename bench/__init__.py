"""The benchmark: Caps and its alternatives, interleaved in one run; see README.md."""
