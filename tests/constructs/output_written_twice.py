# a stream that passes on to the one that it replaced
import io
import sys


class Tee:
    def __init__(self, *streams):
        self.streams = streams

    def write(self, text):
        for stream in self.streams:
            stream.write(text)

    def flush(self):
        for stream in self.streams:
            stream.flush()


before, copy = sys.stdout, io.StringIO()
sys.stdout = Tee(before, copy)
print("both")
before.write("one\n")
sys.stdout = before
assert copy.getvalue() == "both\n" and sys.stdout is before
