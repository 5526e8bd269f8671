"""Collect an iterator that has no end."""

# stopped: limited
# where: worker

import itertools
list(itertools.count())
