"""Have a path of ours put the library's path, which holds a module, into an object of one's own."""

# stopped: raises TypeError
# because: a `PurePosixPath` was due, not a `C`

import pathlib

class C: pass

c = C()
pathlib.PurePosixPath.__init__(c, "x")
take(getattr(c._path, "parser", None))
escaped()
