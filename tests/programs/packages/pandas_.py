# modules: pandas numpy
# %% sales by region and month
import io
import pandas as pd

text = """date,region,product,units,price
2024-01-03,north,tea,10,2.5
2024-01-17,south,tea,4,2.5
2024-02-02,north,coffee,7,4.0
2024-02-20,south,coffee,,4.2
2024-03-05,north,tea,12,2.6
2024-03-05,west,milk,3,1.1
"""
df = pd.read_csv(io.StringIO(text), parse_dates=["date"])
df["units"] = df["units"].fillna(df["units"].median())
df["revenue"] = df["units"] * df["price"]
print(df)
print(df.dtypes)
print(df.groupby("region", as_index=False).agg(total=("revenue", "sum"), n=("units", "count")))
print(df.set_index("date").resample("MS")["revenue"].sum().round(2))
print(df.pivot_table(index="region", columns="product", values="units", aggfunc="sum", fill_value=0, margins=True))
print(pd.crosstab(df["region"], df["product"], normalize="index").round(3))
print(df.sort_values("revenue", ascending=False).head(2).to_dict("records"))
print(df.to_csv(index=False, date_format="%d.%m.%Y"))
# %% merging orders with customers, with what matches nothing
import pandas as pd

orders = pd.DataFrame({"id": [1, 2, 3, 4], "customer": ["a", "b", "c", "a"], "total": [10.0, 20.5, 7.25, 3.0]})
people = pd.DataFrame({"customer": ["a", "b", "d"], "name": ["Ann", "Bob", "Dee"]})
joined = orders.merge(people, how="outer", on="customer", indicator=True, validate="m:1")
print(joined)
print(joined["_merge"].value_counts().to_dict())
print(orders.merge(people, left_on="customer", right_on="customer", suffixes=("_l", "_r")).groupby("name")["total"].agg(["sum", "mean", "max"]))
try:
    people.merge(orders, on="customer", validate="1:1")
except pd.errors.MergeError as error:
    print(type(error).__name__, error)
try:
    orders.merge(people, on="nothing")
except KeyError as error:
    print("KeyError", error)
# %% cleaning text columns
import pandas as pd

people = pd.DataFrame({"name": ["  ann LEE", "bob  stone ", None], "mail": ["ann@x.org", "bob@y.com", "dee"], "tags": ["a,b", "b", "c,a,d"]})
people["name"] = people["name"].str.strip().str.title().str.replace(r"\s+", " ", regex=True)
people[["user", "host"]] = people["mail"].str.split("@", n=1, expand=True)
print(people)
print(people["mail"].str.extract(r"(?P<user>\w+)@(?P<host>[\w.]+)"))
print(people["tags"].str.get_dummies(","))
print(people.assign(tag=people["tags"].str.split(",")).explode("tag").groupby("tag").size())
print(people["name"].str.contains("Lee", na=False).tolist(), people["mail"].str.len().sum())
print(people.isna().sum().to_dict(), people["name"].str.upper().str[:3].tolist())
# %% time zones and business days
import pandas as pd

stamps = pd.to_datetime(["2024-03-30 23:30", "2024-03-31 00:30", "2024-10-27 00:30"], utc=True)
local = stamps.tz_convert("Europe/Berlin")
print(local)
print(local.strftime("%Y-%m-%d %H:%M %Z%z").tolist())
series = pd.Series(range(3), index=local)
print(series)
print(pd.bdate_range("2024-05-30", periods=4).day_name().tolist())
print(pd.Timestamp("2024-02-29") + pd.DateOffset(years=1), pd.Timedelta("1 days 02:03:04").total_seconds())
print((pd.Timestamp("2024-06-01", tz="America/New_York") - pd.Timestamp("2024-06-01", tz="UTC")))
try:
    pd.DatetimeIndex(["2024-03-31 02:30"]).tz_localize("Europe/Berlin")
except Exception as error:
    print(type(error).__name__, error)
print(pd.period_range("2024Q1", periods=3, freq="Q").astype(str).tolist())
# %% rolling, shifting, ranking, cumulating
import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
frame = pd.DataFrame({"v": rng.integers(0, 100, 8)}, index=pd.date_range("2024-01-01", periods=8, freq="D"))
frame["mean3"] = frame["v"].rolling(3).mean()
frame["ewm"] = frame["v"].ewm(span=3).mean().round(3)
frame["change"] = frame["v"].pct_change().round(3)
frame["rank"] = frame["v"].rank(method="dense").astype(int)
frame["cum"] = frame["v"].cumsum()
frame["previous"] = frame["v"].shift(1)
print(frame)
print(frame.describe().round(2).to_string())
print(frame.resample("3D").agg({"v": ["min", "max"], "cum": "last"}))
print(frame.corr().round(3).loc["v"].to_dict())
# %% apply with functions and classes of the program
import pandas as pd
from dataclasses import asdict, dataclass


@dataclass
class Row:
    name: str
    score: float


rows = [Row("a", 1.5), Row("b", 3.25), Row("c", 2.0)]
frame = pd.DataFrame([asdict(row) for row in rows])
frame["grade"] = frame["score"].apply(lambda score: "high" if score > 2 else "low")
frame["text"] = frame.apply(lambda row: f"{row['name']}:{row['score']:.1f}", axis=1)
print(frame)
print(pd.DataFrame(rows))
print(frame.groupby("grade").apply(lambda part: part["score"].sum(), include_groups=False))
print(frame.groupby("grade")["score"].transform("mean").tolist())
for row in frame.itertuples():
    print(row.Index, row.name, row.score)
for index, row in frame.iterrows():
    print(index, dict(row))
print(frame.map(str).values.tolist(), frame.pipe(len))
for name, part in frame.groupby("grade"):
    print(name, part.shape)
# %% errors of a data frame
import pandas as pd

frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
for what in (
    lambda: frame["c"],
    lambda: frame.loc[5],
    lambda: frame.iloc[9],
    lambda: frame["b"].astype(int),
    lambda: frame["a"] + frame["b"],
    lambda: pd.DataFrame({"a": [1], "b": [1, 2]}),
    lambda: pd.to_datetime("no date"),
    lambda: frame.drop(columns=["z"]),
    lambda: frame.groupby("z"),
    lambda: frame.foo,
    lambda: pd.concat([]),
):
    try:
        print(what())
    except Exception as error:
        print(type(error).__name__, error)
# %% a report with bins and quantiles, as text, JSON and HTML
import json
import pandas as pd

ages = pd.Series([3, 17, 22, 35, 64, 70, 90], name="age")
groups = pd.cut(ages, bins=[0, 18, 65, 120], labels=["child", "adult", "senior"])
print(groups.value_counts(sort=False))
print(pd.qcut(ages, 3).astype(str).tolist())
frame = pd.DataFrame({"age": ages, "group": groups})
print(frame.groupby("group", observed=True)["age"].describe().round(1))
print(json.loads(frame.to_json(orient="records"))[:2])
print(frame.head(2).to_html(index=False))
print(frame.to_string(index=False, justify="left"))
print(frame.query("age > 30 and group == 'adult'"))
frame.info()
print(frame.memory_usage(index=False).sum() > 0, frame.nlargest(2, "age").index.tolist())
print(frame.melt(id_vars="group").head(3), frame.sample(2, random_state=1).sort_index())
# %% wide, multi-index, stacked
import pandas as pd

frame = pd.DataFrame({"city": ["A", "A", "B", "B"], "year": [2023, 2024, 2023, 2024], "pop": [10, 12, 20, 19], "gdp": [1.5, 1.7, 3.1, 3.0]})
wide = frame.pivot(index="city", columns="year", values=["pop", "gdp"])
print(wide)
wide.columns = [f"{name}_{year}" for name, year in wide.columns]
print(wide.reset_index())
deep = frame.set_index(["city", "year"])
print(deep.loc[("A", 2024)], deep.xs(2023, level="year"), deep.unstack().shape, sep="\n")
print(deep.stack())
print(deep.groupby(level="city").diff())
print(deep.T)
print(pd.get_dummies(frame, columns=["city"], dtype=int))
print(pd.DataFrame({"x": range(100)}))
# %% a file that is not there
# ends: there are no files here; use `io.StringIO` or `io.BytesIO`
import pandas as pd

pd.read_csv("missing.csv")
# %% nested records from JSON
import io
import json
import pandas as pd

records = json.loads('[{"id": 1, "user": {"name": "Ann", "tags": ["a", "b"]}}, {"id": 2, "user": {"name": "Bob", "tags": []}}]')
flat = pd.json_normalize(records, sep="_")
print(flat)
print(pd.json_normalize(records, record_path=["user", "tags"], meta=["id"]))
print(pd.read_json(io.StringIO('{"a": [1, 2], "b": ["x", null]}')))
print(flat.to_json(orient="split", index=False), flat.to_dict("list"))
# %% duplicates, outliers and missing values
import numpy as np
import pandas as pd

frame = pd.DataFrame({"k": list("aabbc"), "v": [1.0, 1.0, np.nan, 5.0, 500.0]})
print(frame.drop_duplicates(), frame.duplicated().sum())
low, high = frame["v"].quantile([0.25, 0.75])
print(low, high, frame[frame["v"].between(low - 1.5 * (high - low), high + 1.5 * (high - low))])
print(frame["v"].interpolate().tolist(), frame.groupby("k")["v"].transform(lambda v: v.fillna(v.mean())).tolist())
print(frame.agg({"v": ["sum", "mean"], "k": "nunique"}), frame.replace({"k": {"a": "A"}})["k"].value_counts())
print(frame.compare(frame.fillna(0)), frame.equals(frame.copy()))
