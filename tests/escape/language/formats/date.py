"""Have a date format by a specification that is a template."""

# stopped: harmless

from datetime import date
take(format(date(2020, 1, 1), "{0.__class__}"))
