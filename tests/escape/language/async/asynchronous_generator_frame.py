"""Read the frame of an asynchronous generator."""

# stopped: raises AttributeError
# because: `ag_frame` reaches into the interpreter

async def g(): yield
take(getattr(g(), "ag_fra" "me"))
