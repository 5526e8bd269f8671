# what: `globals()["__builtins__"] = …`
# why: the guards are stored there; `globals()` shows and sets the variables that code could name
# raises: AttributeError: '__builtins__' cannot be the name of a variable here
globals()["__builtins__"] = {}
