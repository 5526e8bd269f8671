"""Change the builtins of evaluated code by what `globals` gives inside it."""

# stopped: raises AttributeError
# because: '__import__' cannot be the name of a variable here

scope = {}
for name in ("__builtins__", "__build_class__", "<own>", "__name__"):
    try:
        exec("globals()[name] = {'escaped': 1}", globals={"name": name})
        escaped()
    except AttributeError:
        pass
exec("globals().update({'x': 1}, y=2)\nglobals().setdefault('z', 3)", globals=scope)
exec("globals()['__import__'] = print\nimport math", globals=scope)
escaped()
