"""Have a comparison ask for itself while a list is sorted."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

class C:
    def __lt__(self, other): return sorted([self, other]) == 1
sorted([C(), C()])
