# what: setting attributes of a module
# why: a facade is the same for all who use it
# raises: AttributeError: `pi` cannot be set on a module
import math
math.pi = 3
