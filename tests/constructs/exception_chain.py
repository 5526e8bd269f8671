# `__cause__`, `__context__`, `__traceback__` of an error
try:
    try:
        1 / 0
    except ZeroDivisionError as error:
        raise ValueError("x") from error
except ValueError as error:
    assert type(error.__cause__).__name__ == "ZeroDivisionError"
    assert error.__context__ is error.__cause__
    assert error.__traceback__ is not None
    error.__cause__ = None
    assert error.__suppress_context__
