"""Turn a text into a number that takes for ever."""

# stopped: raises ValueError
# because: Exceeds the limit

int("9" * 5000)
escaped()
