"""The variables of evaluated code: how `exec(text, names)` and the dictionary `names` stay in line.

Nothing here decides what code may do: that is in the modules around this folder.
"""
