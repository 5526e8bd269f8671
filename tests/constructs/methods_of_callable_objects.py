# a decorator that is a class, with `types.MethodType` in its `__get__`
import functools, types
class Counted:
    def __init__(self, function): functools.update_wrapper(self, function); self.function, self.calls = function, 0
    def __call__(self, *args): self.calls += 1; return self.function(*args)
    def __get__(self, instance, owner=None): return self if instance is None else types.MethodType(self, instance)
class C:
    @Counted
    def twice(self, n): return n * 2
c = C()
assert c.twice(2) == 4 and c.twice(3) == 6 and C.twice.calls == 2
