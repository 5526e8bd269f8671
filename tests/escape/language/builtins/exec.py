"""Run text as code."""

# stopped: raises NameError
# because: name 'exec' is not defined

exec("escaped()")
