# attribute functions
class C:
    pass
c = C()
setattr(c, "a", 1)
setattr(c, "_b", 2)
r = (
    getattr(c, "a"),
    getattr(c, "_b"),
    getattr(c, "z", "none"),
    hasattr(c, "a"),
    hasattr(c, "z"),
    dict(vars(c)),
    [n for n in dir(c) if not n.startswith("__")],
)
delattr(c, "a")
result = (*r, hasattr(c, "a"), getattr([], "append") is not None, getattr("{}", "format")(3))
assert result == (1, 2, 'none', True, False, {'a': 1, '_b': 2}, ['_b', 'a'], False, True, '3')
