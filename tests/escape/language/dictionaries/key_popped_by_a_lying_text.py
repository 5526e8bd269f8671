"""Remove a library's attribute from an object by a deceptive `str` subclass."""

# stopped: raises TypeError
# because: attribute name must be a string

import contextlib

class Name(str):
    asked = 0
    def now(self): return "a" if Name.asked < 2 else "_exit_callbacks"
    def __eq__(self, other): return other == self.now()
    def __hash__(self):
        Name.asked += 1
        return hash(self.now())

class Stack(contextlib.ExitStack):
    a = 1

stack = Stack()
stack.a = 2
vars(stack).pop(Name("a"), None)
escaped()
