# `traceback.extract_tb` and `format_tb`
import sys
import traceback
import types


def fail():
    raise ValueError("no")


try:
    fail()
except ValueError as error:
    frames = traceback.extract_tb(error.__traceback__)
    assert [frame.name for frame in frames] == ["<module>", "fail"]
    assert frames[-1].lineno == 8
    assert 'line 8, in fail' in traceback.format_tb(sys.exc_info()[2])[-1]
    assert len(traceback.extract_tb(error.__traceback__, limit=1)) == 1
    assert isinstance(error.__traceback__, types.TracebackType)


class Block:
    def __exit__(self, kind: type | None, error: Exception | None, tb: types.TracebackType | None):
        return True


class C:
    pass


c = C()
c.greet = types.MethodType(lambda self, name: (self, name), c)
assert c.greet("x") == (c, "x") and isinstance(c.greet, types.MethodType)
