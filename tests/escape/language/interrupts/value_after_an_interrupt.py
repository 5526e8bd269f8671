"""Catch the interrupt, and end with a value as if no limit had been reached."""

# stopped: limited
# where: worker

try:
    while True:
        n = 1
except BaseException:
    pass
"a value"
