"""Read the builtins of a module in user space, which imports more than a program can."""

# stopped: raises AttributeError
# because: `__import__` reaches into the interpreter

import configparser
take(configparser)
take(vars(configparser.ConfigParser).get("__import__"))
getattr(configparser, "__import__")
