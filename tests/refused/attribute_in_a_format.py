# what: attributes in a format string (`"{0.x}".format(y)`)
# why: the compiler does not see names inside strings; use an f-string
# raises: ValueError: `0.real`: a format cannot read attributes; use an f-string
"{0.real}".format(1)
