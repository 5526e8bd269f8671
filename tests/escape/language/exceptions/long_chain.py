"""Break the report by a long chain of errors."""

# stopped: raises ValueError
# because: 19999
# where: worker

error = None
for number in range(20_000):
    try:
        raise ValueError(number) from error
    except ValueError as caught:
        error = caught
raise error
