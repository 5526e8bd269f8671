"""Turn a number into a text that takes for ever."""

# stopped: raises ValueError
# because: Exceeds the limit

str(10 ** 5000)
escaped()
