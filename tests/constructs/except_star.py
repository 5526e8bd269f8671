# `except*` with several kinds
seen = []
try:
    raise ExceptionGroup("both", [ValueError("a"), TypeError("b")])
except* ValueError as group:
    seen.append(("value", len(group.exceptions)))
except* TypeError as group:
    seen.append(("type", len(group.exceptions)))
assert seen == [("value", 1), ("type", 1)]
