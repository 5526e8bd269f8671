"""Change the program's variables by what `globals` gives."""

# stopped: harmless

globals()["__builtins__"] = {"escaped": escaped}
globals()["__import__"] = escaped
import math
None
