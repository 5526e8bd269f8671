"""Hash a file."""

# stopped: raises ImportError
# because: cannot import name 'file_digest'

from hashlib import file_digest
escaped()
