"""The same where the template is known only at run time."""

# stopped: raises ValueError
# because: `0.__class__`: a format cannot read attributes; use an f-string

template = "{:{0.__cl" "ass__}}" + ""
template.format(1)
escaped()
