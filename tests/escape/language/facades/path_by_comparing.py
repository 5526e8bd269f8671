"""Be handed the library's path, which holds a module, by a comparison of ours."""

# stopped: raises TypeError
# because: a `PurePosixPath` was due, not a `C`

import pathlib

class Path:
    def __eq__(self, other):
        take(getattr(other, "parser", None))
        escaped()

class C:
    _path = Path()

pathlib.PurePosixPath.__eq__(C(), pathlib.PurePosixPath("x"))
