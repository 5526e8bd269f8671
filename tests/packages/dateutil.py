# package: python-dateutil
# modules: dateutil
import datetime
from dateutil import easter, parser, relativedelta, rrule, tz

# %% parsing, differences, recurrences, Easter
assert parser.parse("5 Jan 2024 10:00").month == 1 and parser.isoparse("2024-01-05").year == 2024
assert datetime.date(2024, 1, 31) + relativedelta.relativedelta(months=1) == datetime.date(2024, 2, 29)
assert len(list(rrule.rrule(rrule.WEEKLY, count=3, dtstart=datetime.datetime(2024, 1, 1)))) == 3
easter.easter(2024)
# %% time zones by name
z = tz.gettz("Europe/Rome")
assert datetime.datetime(2024, 7, 1, tzinfo=z).utcoffset().total_seconds() == 7200
tz.tzutc(), tz.UTC, tz.tzlocal(), tz.gettz("America/New_York"), tz.tzoffset("X", 3600)
rrule.rrulestr("FREQ=DAILY;COUNT=2", dtstart=datetime.datetime(2024, 1, 1))
