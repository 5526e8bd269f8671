# `hasattr` of protocol methods, and calling them
assert hasattr([], "__iter__")
assert not hasattr(3, "__len__")
assert hasattr(print, "__call__")
assert [1, 2].__len__() == 2
assert {"a": 1}.__getitem__("a") == 1
assert iter([1]).__next__() == 1
assert sorted("bca", key={"a": 3, "b": 1, "c": 2}.__getitem__) == ["b", "c", "a"]
