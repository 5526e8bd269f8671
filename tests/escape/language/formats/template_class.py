"""Read attributes by a template whose names are wider."""

# stopped: raises KeyError
# because: 'a.'

from string import Template
class Wide(Template):
    idpattern = r"[a-z.]+"
Wide("$a._hidden").substitute({"a": secret})
