"""Compute for ever, and catch whatever may end it."""

# stopped: limited
# where: worker

while True:
    try:
        while True: pass
    except BaseException:
        pass
