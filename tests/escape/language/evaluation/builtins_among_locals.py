"""Give `exec` other builtins among the local variables."""

# stopped: raises NameError
# because: name 'open' is not defined

scope = {'__builtins__': {'open': print}}
exec('open("/etc/passwd")', None, scope)
escaped()
