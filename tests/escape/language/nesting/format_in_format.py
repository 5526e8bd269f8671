"""Nest specifications of a format."""

# stopped: raises ValueError
# because: Max string recursion exceeded

"{0:{0:{0:{0}}}}".format(1)
escaped()
