"""Raise the limit of recursion, and exhaust the stack."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

import sys
sys.setrecursionlimit(10**9)
class C:
    def __getattr__(self, name): return getattr(self, name + "x")
C().x
