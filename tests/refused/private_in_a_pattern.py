# what: a private attribute in a class pattern
# why: patterns read attributes without a guard
# raises: SourceError: a pattern cannot read the attribute `_a`
match 1:
    case int(_a=1): ...
