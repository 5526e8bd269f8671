"""Use the variables of evaluated code in what outlives it: functions, generators and classes."""

# stopped: raises AttributeError
# because: cannot be the name of a variable here

source = '''
def function(): return globals()
def generator():
    try: yield
    finally: globals()["left"] = list(globals().values())
class C:
    here = globals()
    def method(self): return globals()
'''
scope = {}
exec(source, globals=scope)
running = scope["generator"]()
next(running)
del running
for found in (scope["function"](), scope["C"]().method(), scope["C"].here):
    take(list(found.values()))
    found["later"] = 1
scope.clear()
found["__builtins__"] = {}
