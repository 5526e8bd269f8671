# what: `__new__` of a class that the code did not define
# why: it creates objects that were never initialised
# raises: TypeError: `__new__` makes instances of your own classes only
object.__new__(int)
