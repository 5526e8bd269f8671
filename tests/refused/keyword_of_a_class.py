# what: a class keyword that is not a plain string
# why: it could be `metaclass` for the interpreter only
# raises: TypeError: keywords must be strings
class Name(str): pass
class C(**{Name("x"): 1}): pass
