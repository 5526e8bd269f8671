"""Let a record answer for `__mro_entries__`."""

# stopped: raises TypeError
# because: a base must be a class

class C(type(record)({'__mro_entries__': lambda bases: (1,)})): pass
escaped()
