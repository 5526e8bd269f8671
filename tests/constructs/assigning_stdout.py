# assigning `sys.stdout`
import contextlib
import io
import sys

before = sys.stdout
sys.stdout = written = io.StringIO()
print("captured")
assert sys.stdout is written
sys.stdout = before
assert written.getvalue() == "captured\n" and sys.stdout is before
with contextlib.redirect_stdout(io.StringIO()) as inner:
    assert sys.stdout is inner
    print("inside")
assert inner.getvalue() == "inside\n" and sys.stdout is before


class Twice:
    def write(self, text):
        written.write(text * 2)

    def flush(self):
        pass


sys.stderr, errors = Twice(), sys.stderr
print("x", file=sys.stderr, end="")
sys.stderr = errors
assert written.getvalue().endswith("xx")
