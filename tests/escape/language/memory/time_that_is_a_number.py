"""Give the library a number for a time that it asks a class for."""

# stopped: raises TypeError
# because: `__new__` of `Time` cannot give a `int`

from datetime import datetime, timedelta, timezone
class Time(datetime):
    def __new__(cls, *args, **names):
        return 5 if armed else super().__new__(cls, *args, **names)
armed = False
time = Time(2024, 1, 1, tzinfo=timezone(timedelta(hours=1)))
armed = True
time.astimezone(timezone.utc)
