"""Compute for ever inside one operation."""

# stopped: limited
# where: worker

7 ** (7 ** 9) and None
