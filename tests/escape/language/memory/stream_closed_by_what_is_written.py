"""Close a stream by what is written to it."""

# stopped: raises ValueError
# because: I/O operation on closed file

import io
class C:
    def __iter__(self):
        stream.close()
        yield "x" * 10_000
stream = io.StringIO()
stream.writelines(C())
