"""Step an asynchronous generator while it runs."""

# stopped: raises RuntimeError
# because: anext(): asynchronous generator is already running

async def g():
    yield await running.__anext__()
running = g()
await running.__anext__()
