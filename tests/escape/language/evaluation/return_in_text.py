"""End the program by text that returns."""

# stopped: raises SyntaxError
# because: 'return' outside function

exec("return escaped")
