"""Put an object of one's own in the place of the streams, and look at what it is given."""

# stopped: raises AttributeError
# because: `maxsize` cannot be set on a module

import sys
class Spy:
    def write(self, text): take([text, type(text)])
    def flush(self, *args): take(list(args))
sys.stdout = sys.stderr = Spy()
print("x", flush=True)
for name in ("stdout", "__stdout__"):
    take(getattr(sys, name))
sys.stdout = sys.__stdout__
sys.maxsize = 1
