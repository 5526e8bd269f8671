# what: a private attribute in a class pattern
# why: patterns read attributes where no guard can stand
# raises: SourceError: a pattern cannot read the attribute `_a`
match 1:
    case int(_a=1): ...
