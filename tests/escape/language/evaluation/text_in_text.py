"""Run text that runs text that runs what is refused."""

# stopped: raises SyntaxError
# because: `__base__` reaches into the interpreter

exec("exec(\"exec('take(().__class__.__base__)')\")")
