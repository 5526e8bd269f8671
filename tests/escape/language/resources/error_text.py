"""Raise an error whose text is larger than a frame."""

# stopped: raises ValueError
# because: xxxxxxxxxx
# where: worker

raise ValueError("x" * (30 << 20))
