# what: `from x import *`
# why: name what you import
# raises: SourceError: name what you import
from math import *
