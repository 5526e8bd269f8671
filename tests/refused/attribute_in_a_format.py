# what: attributes in a format string (`"{0.x}".format(y)`)
# why: the names inside strings are seen by no compiler; use an f-string
# raises: ValueError: `0.real`: a format cannot read attributes; use an f-string
"{0.real}".format(1)
