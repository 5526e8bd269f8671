"""Use a class in a pattern while a library class makes it, before its positions are checked."""

# stopped: raises TypeError
# because: accepts 0 positional sub-patterns

import string

class Delimiter:
    def __get__(self, instance, owner):
        match owner("x"):
            case owner(attributes):
                attributes["__deepcopy__"] = None
                escaped()
        return "$"

class T(string.Template):
    __match_args__ = ("__dict__",)
    delimiter = Delimiter()
