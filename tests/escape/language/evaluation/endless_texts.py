"""Let text run itself without end."""

# stopped: raises SyntaxError
# because: the source nests too deeply to compile

text = "exec(text)"
exec(text)
