# what: `from x import *`
# why: names that the compiler does not see would become variables; name what you import
# raises: SourceError: name what you import
from math import *
