"""Read the code of an asynchronous generator."""

# stopped: refused
# because: reaches into the interpreter

async def f():
    yield
take(f().ag_code)
