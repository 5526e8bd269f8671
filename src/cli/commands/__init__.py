"""The commands, one module each; those with many parts have a folder next to this one."""
