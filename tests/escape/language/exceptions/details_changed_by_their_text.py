"""Change the details of an error while they are reported, to lose the worker."""

# stopped: raises PolicyDeniedError
# because: x

class Name:
    def __str__(self):
        error.details.clear()
        error.details["a"] = error.details["b"] = error.details["c"] = 1
        return "n"

error = PolicyDeniedError("x")
error.details = {Name(): 1, "z": 2}
raise error
