"""Pass builtins of its own."""

# stopped: raises NameError
# because: name 'escaped2' is not defined

eval("x", {"__builtins__": {"x": escaped}, "x": 1})
exec("escaped2()", {"__builtins__": {"escaped2": escaped}})
