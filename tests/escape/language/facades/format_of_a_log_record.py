"""Have a formatter of `logging` read attributes by name."""

# stopped: raises ValueError
# because: a format cannot read attributes

import logging
record = logging.makeLogRecord({"msg": "x", "args": ()})
logging.Formatter("%(args)s %(exc_info)r").format(record)
logging.Formatter("{args.__class__.__base__}", style="{").format(record)
escaped()
