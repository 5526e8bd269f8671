"""Import a module that the interpreter imports by itself."""

# stopped: raises AttributeError
# because: has no attribute 'locale'

import _strptime
take(_strptime)
take(_strptime.locale)
