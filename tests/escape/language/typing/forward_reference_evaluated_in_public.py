"""Evaluate text as code by a forward reference, which has a public method for it from Python 3.14 on."""

# stopped: raises AttributeError or raises TypeError
# because: has no attribute 'evaluate'
# because: a forward reference is not evaluated in the sandbox

from typing import Union
take(Union["__import__('os')"].evaluate())
