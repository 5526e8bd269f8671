"""(7) The capability `test_weather`: invented weather, for tests of tool calling.

It is deterministic: the same city and date always have the same weather, in every process. The
names say `test`, because nothing here is measured.
"""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Final, Literal

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.catalogue.capability import Capability, ToolDescriptor
from caps.capabilities.provider import ProviderError
from caps.capabilities.registry import CapabilityRegistry

MAX_DAYS: Final = 14
CONDITIONS: Final = ("sunny", "partly cloudy", "cloudy", "rain", "thunderstorm", "fog", "snow")

Units = Literal["celsius", "fahrenheit"]
City = Annotated[str, Field(min_length=1, max_length=100, description="the name of a city")]
Day = Annotated[date | None, Field(description="the day, as `YYYY-MM-DD`; by default today in UTC")]


class Weather(TypedDict):
    """The weather of a city on one day."""

    city: str
    date: date
    condition: str
    temperature: float
    humidity: int
    wind_kph: int
    units: Units


class DayForecast(TypedDict):
    """One day of a forecast."""

    date: date
    condition: str
    high: float
    low: float
    precipitation_chance: int


class Forecast(TypedDict):
    """The days of a forecast, the first one first."""

    city: str
    units: Units
    days: list[DayForecast]


async def get_weather(city: City, date: Day = None, units: Units = "celsius") -> Weather:
    """Get the current weather of a city. The data is invented, for tests."""
    day = date or datetime.now(UTC).date()
    drawn = _draw(city, day)
    return {
        "city": _named(city),
        "date": day,
        "condition": drawn.choice(CONDITIONS),
        "temperature": _in_units(drawn.uniform(-10, 35), units),
        "humidity": drawn.randint(20, 100),
        "wind_kph": drawn.randint(0, 60),
        "units": units,
    }


async def get_forecast(
    city: City,
    days: Annotated[int, Field(ge=1, le=MAX_DAYS, description="how many days")] = 3,
    start: Day = None,
    units: Units = "celsius",
) -> Forecast:
    """Get the forecast of a city for several days. The data is invented, for tests."""
    first = start or datetime.now(UTC).date()
    if days - 1 > (date.max - first).days:
        raise ProviderError(f"`start` is too late for {days} days")
    forecast = [_day(city, first + timedelta(days=n), units) for n in range(days)]
    return {"city": _named(city), "units": units, "days": forecast}


class TestWeather(Capability):
    """The two functions, as tools."""

    key = "test_weather"
    name = "Test Weather"
    description = "Mock weather data for testing tool calling."
    icon = "cloud-sun"
    category = "Testing"
    system_prompt = (
        "You have access to weather tools. Use get_weather for current conditions and get_forecast "
        "for multi-day forecasts."
    )
    tools = (
        ToolDescriptor("get_weather", "Get Weather", "Get the current weather of a city."),
        ToolDescriptor("get_forecast", "Get Forecast", "Get the forecast of a city for some days."),
    )


def register_weather(registry: CapabilityRegistry) -> None:
    """Declare the domain `test_weather`, its functions and its capability."""
    registry.domain(
        "test_weather", scope=None, title="Test weather", description="Invented weather."
    )
    tags = frozenset({"pure"})
    registry.capability(
        "test_weather.get_weather",
        title="Get the weather",
        tags=tags,
        shown=("city",),
        idempotent=True,
    )(get_weather)
    registry.capability(
        "test_weather.get_forecast",
        title="Get a forecast",
        tags=tags,
        shown=("city", "days"),
        idempotent=True,
    )(get_forecast)
    registry.register(TestWeather)


def _named(city: str) -> str:
    name = " ".join(city.split())
    if not name:
        raise ProviderError("`city` is empty; name a city")
    return name


def _draw(city: str, day: date) -> random.Random:
    """The random numbers of this city and day. `Random` seeds by SHA-512 of a string."""
    return random.Random(f"{_named(city).casefold()}|{day.isoformat()}")  # noqa: S311 - not secret


def _in_units(celsius: float, units: Units) -> float:
    return round(celsius if units == "celsius" else celsius * 9 / 5 + 32, 1)


def _day(city: str, day: date, units: Units) -> DayForecast:
    drawn = _draw(city, day)
    condition, middle = drawn.choice(CONDITIONS), drawn.uniform(-10, 35)
    spread = drawn.uniform(2, 8)
    return {
        "date": day,
        "condition": condition,
        "high": _in_units(middle + spread, units),
        "low": _in_units(middle - spread, units),
        "precipitation_chance": drawn.randint(0, 100),
    }
