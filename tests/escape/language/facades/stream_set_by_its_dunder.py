"""Replace the stream that restores the output."""

# stopped: refused
# because: `__stdout__` reaches into the interpreter

import sys
sys.__stdout__ = None
