"""Import a submodule from a facade."""

# stopped: raises ImportError
# because: cannot import name 'decoder'

from json import decoder
take(decoder)
