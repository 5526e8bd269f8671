# datetime
from datetime import datetime, timedelta, timezone, date, UTC
d = datetime.strptime("2024-02-28 10:00", "%Y-%m-%d %H:%M").replace(
    tzinfo=UTC
) + timedelta(days=1)
result = (
    d.isoformat(),
    d.strftime("%A"),
    date(2024, 1, 1).weekday(),
    f"{d:%d.%m.}",
    (d - d).total_seconds(),
)
assert result == ('2024-02-29T10:00:00+00:00', 'Thursday', 0, '29.02.', 0.0)
