# causes and notes
try:
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise ValueError("outer") from e
except ValueError as e:
    e.add_note("a note")
    r = (e.__cause__.__class__.__name__, e.__context__ is e.__cause__, e.__notes__)
result = r
assert result == ('ZeroDivisionError', True, ['a note'])
