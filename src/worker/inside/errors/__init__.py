"""Reports of errors in user code: frames, source lines, hints.

Nothing of the host is shown.
"""
