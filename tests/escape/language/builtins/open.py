"""Open a file."""

# stopped: raises NameError
# because: name 'open' is not defined

open("/etc/passwd")
escaped()
