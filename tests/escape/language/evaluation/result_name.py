"""Set the result of the program from text."""

# stopped: harmless

exec("'a result'")
globals().get("<result>")
