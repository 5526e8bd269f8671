"""Follow the errors behind an error of ours."""

# stopped: harmless

seen = []
def follow(error):
    while error is not None:
        take(list(error.args))
        if hasattr(error, "obj"):
            take(error.obj)
        error = error.__context__ or error.__cause__

for call in (
    lambda: getattr(secret, "_hidden"), lambda: setattr(1, "x", 1), lambda: vars(1),
    lambda: "{.x}".format(1), lambda: eval("1 +"), lambda: type("X", (), {}),
    lambda: record.nothing, lambda: object.__new__(int), lambda: int.__mro__,
):
    try:
        call()
    except Exception as error:
        follow(error)
None
