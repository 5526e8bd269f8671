"""Look for frames and globals in a record of `logging` and in what made it."""

# stopped: raises AttributeError
# because: `f_back` reaches into the interpreter

import logging
records = []
class Keep(logging.Handler):
    def emit(self, record): records.append(record)
logging.getLogger().addHandler(Keep())
try:
    1 / 0
except ZeroDivisionError:
    logging.exception("x", stack_info=True)
for name, value in vars(records[0]).items():
    take(value)
take(list(records[0].exc_info))
getattr(records[0].exc_info[2], "f_back")
