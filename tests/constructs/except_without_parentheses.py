# several exceptions without parentheses (from Python 3.14 on)
def kind(value):
    try:
        return int(value)
    except ValueError, TypeError:
        return "neither"


assert [kind("1"), kind("x"), kind(None)] == [1, "neither", "neither"]
