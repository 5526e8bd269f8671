"""Have `find_caller`, which looks at frames, give a frame or a foreign file."""

# stopped: raises ModuleNotFoundError
# because: cannot be imported here

import logging
found = []
class Keep(logging.Handler):
    def emit(self, record): found.append((record.pathname, record.funcName))
logging.getLogger().addHandler(Keep())
logging.error("x", stacklevel=1000)
list(map(logging.error, ["y"]))
if any(not name.startswith("<") for name, _ in found):
    escaped()
from caps.worker.inside.stdlib.user_modules.native import find_caller
