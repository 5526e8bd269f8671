"""Give a log record attributes that the interpreter looks up."""

# stopped: raises AttributeError
# because: `__class__` reaches into the interpreter

import logging
try:
    logging.makeLogRecord({"__dict__": {}})
    escaped()
except AttributeError:
    pass
logging.error("x", extra={"__class__": int})
escaped()
