# what: attributes that lead to frames, code, globals or modules (`f.__globals__`, `g.gi_frame`, `e.__traceback__.tb_frame`, …)
# why: they lead from an object to the interpreter behind it
# raises: SourceError: `__globals__` reaches into the interpreter
def f(): ...
f.__globals__
