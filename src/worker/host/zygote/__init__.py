"""Starts the zygote and orders workers from it.

The code of the zygote itself is in `worker/inside/zygote`.
"""
