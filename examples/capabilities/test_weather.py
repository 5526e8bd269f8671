"""{"test_weather": {}}"""

import datetime as dt

day = dt.date(2026, 1, 2)
weather = await caps.test_weather.get_weather(city="Paris", date=day)
print(weather.condition, weather.temperature)
forecast = await caps.test_weather.get_forecast(city="Paris", days=2, start=day)
for each in forecast.days:
    print(each.date, each.low, each.high)

# prints
# rain 31.3
# 2026-01-02 24.3 38.3
# 2026-01-03 -4.0 2.1
