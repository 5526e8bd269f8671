"""Start the debugger."""

# stopped: raises NameError
# because: name 'breakpoint' is not defined

breakpoint()
escaped()
