"""Give it a date, which has less memory than a time."""

# stopped: raises TypeError
# because: `__new__` of `Time` cannot give a `date`

from datetime import date, datetime, timedelta, timezone
class Time(datetime):
    def __new__(cls, *args, **names):
        return date(2024, 1, 1) if armed else super().__new__(cls, *args, **names)
armed = False
time = Time(2024, 1, 1, tzinfo=timezone(timedelta(hours=1)))
armed = True
time.astimezone(timezone.utc)
