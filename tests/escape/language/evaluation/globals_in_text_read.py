"""Read special names by what `globals` gives inside evaluated code."""

# stopped: raises KeyError
# because: '__builtins__'

found = eval("globals()", globals={"x": 1})
take(found.get("__builtins__"))
take(list(found.values()))
take(list(dict.values(found)))
take([value for _name, value in dict.items(found)])
take(list({**found}.values()))
take(list((found | {}).values()))
take(list(found.copy().values()))
take([dict.get(found, name) for name in ("__builtins__", "__name__", "<own>", "<read>")])
take([dict.pop(found, name, None) for name in ("__builtins__", "<own>", "<hook>")])
found["__builtins__"]
