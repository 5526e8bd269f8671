# what: a class keyword that is not a plain string
# why: the interpreter could read it as `metaclass` although our check does not
# raises: TypeError: keywords must be strings
class Name(str): pass
class C(**{Name("x"): 1}): pass
