# `exit` and `quit`
for leave in (exit, quit):
    try:
        leave(3)
        raise AssertionError
    except SystemExit as error:
        assert error.code == 3
