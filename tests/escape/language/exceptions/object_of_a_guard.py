"""Read the object that a guard has refused."""

# stopped: raises AttributeError
# because: `NoneType` has no private attributes

try:
    secret._hidden
except AttributeError as error:
    take([error.obj, error.name, error.args])
    error.obj._hidden
escaped()
