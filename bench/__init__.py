"""Caps beside what a user would pick instead, interleaved in one run; see README.md."""
