# except*
seen = []
try:
    try:
        raise ExceptionGroup("many", [ValueError(1), TypeError(2), KeyError(3)])
    except* ValueError as g:
        seen.append([repr(e) for e in g.exceptions])
    except* (TypeError, OSError) as g:
        seen.append(len(g.exceptions))
except ExceptionGroup as left:
    seen.append(repr(left.exceptions[0]))
try:
    raise ValueError("alone")
except* ValueError as g:
    seen.append(str(g.exceptions[0]))
result = seen
assert result == [['ValueError(1)'], 1, 'KeyError(3)', 'alone']
