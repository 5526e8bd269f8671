"""Read the globals of `print` as what is awaited."""

# stopped: refused
# because: reaches into the interpreter

await take(print.__globals__)
