"""Modules of the standard library that run in user space, like code of the user's own.

`table` lists them and `loader` compiles them; the other files are their sources, where they are
ours. Code here is checked and guarded like the user's: it can do nothing that user code cannot do.
"""
