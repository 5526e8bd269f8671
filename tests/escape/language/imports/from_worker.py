"""Import the code of the worker from `caps`."""

# stopped: raises ImportError
# because: cannot import name 'worker'
# where: worker

from caps import worker
take(worker)
