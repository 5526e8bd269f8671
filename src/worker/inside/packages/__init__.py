"""Real packages in workers: what they need while the zygote still has files and imports.

What is known about single packages is in `known/`. Loaded by zygotes with real modules only, but
for `machine`.
"""
