"""Rename a function of ours by calling it the wrapper of another."""

# stopped: harmless

import functools

def renamed(): pass

functools.update_wrapper(print, renamed)
if print.__name__ == "renamed":
    escaped()
