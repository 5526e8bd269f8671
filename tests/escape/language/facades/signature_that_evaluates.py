"""Have a signature evaluate the text of an annotation."""

# stopped: raises TypeError
# because: unexpected keyword argument 'eval_str'

import inspect
def f(a: "__import__('os')"): pass
found = inspect.signature(f)
take(list(found.parameters.values()))
take(found.parameters["a"].annotation)
if hasattr(type(found), "from_callable"):
    escaped()
inspect.signature(f, eval_str=True)
