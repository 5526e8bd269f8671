"""End the program by an error that generators swallow."""

# stopped: raises GeneratorExit
# because: stop

raise GeneratorExit("stop")
