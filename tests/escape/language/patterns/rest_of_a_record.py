"""Write into a record by the rest of a mapping pattern."""

# stopped: harmless

match record:
    case {**rest}:
        rest["a"] = 2
record["a"] == 2
