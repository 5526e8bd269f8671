"""Recurse through the interpreter by comparing."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded

class C:
    def __eq__(self, other): return [self] == [other]
C() == C()
escaped()
