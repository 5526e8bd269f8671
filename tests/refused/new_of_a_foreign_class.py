# what: `__new__` of a class that is not the code's own
# why: it makes objects that were never set up
# raises: TypeError: `__new__` makes instances of your own classes only
object.__new__(int)
