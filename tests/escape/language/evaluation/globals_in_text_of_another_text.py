"""Pass what `globals` gives in one text as the variables of another one."""

# stopped: raises NameError
# because: name 'open' is not defined

scope = {}
inner = eval("globals()", globals=scope)
exec("__all__ = []\ny = 1\ndel y\nglobals().clear()", globals=inner, locals=inner)
exec("globals().update(other)", globals={"other": inner})
for value in eval("globals()", inner, inner).values():
    take(value)
exec("open('/etc/passwd')", globals=inner, locals=eval("globals()", inner))
