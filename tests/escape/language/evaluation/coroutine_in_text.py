"""Get at a code object or frame by text that awaits."""

# stopped: raises SyntaxError
# because: 'await' outside function

eval("await 1")
