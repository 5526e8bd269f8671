# what: setting attributes of a module
# why: a facade is shared by all of its users
# raises: AttributeError: `pi` cannot be set on a module
import math
math.pi = 3
