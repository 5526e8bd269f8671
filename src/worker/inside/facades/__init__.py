"""Facades: a module as user space sees it, and the allowlist of names.

The replacements of library code are in `stdlib`, not here.
"""
