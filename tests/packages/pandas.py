# package: pandas
# modules: pandas
# note: also with pyarrow installed
import pandas as pd
import io

# %% the version
assert pd.__version__.count(".") == 2
# %% printing a frame
df = pd.DataFrame({"city": ["Rome", "Oslo", "Rome"], "n": [1, 2, 3], "x": [0.5, 1.5, 2.5]})
print(df)
assert str(df).splitlines()[0].split() == ["city", "n", "x"]
# %% printing a wide and long frame
wide = pd.DataFrame({f"column_{i}": range(200) for i in range(40)})
print(wide)
assert "..." in repr(wide)
print(wide.to_string(max_rows=4, max_cols=4))
# %% head, tail, info, describe, dtypes
print(df.head(2), df.tail(1), df.dtypes, df.shape)
buffer = io.StringIO()
df.info(buf=buffer)
assert "RangeIndex" in buffer.getvalue()
df.info()
assert df.describe()["n"]["mean"] == 2
df.describe(include="all")
# %% to_dict, to_json, to_records
assert df.to_dict("records")[0] == {"city": "Rome", "n": 1, "x": 0.5}
assert df.to_json(orient="records").startswith('[{"city":"Rome"')
df.to_records()
assert pd.read_json(io.StringIO(df.to_json())).shape == (3, 3)
# %% to_csv to text, read_csv from text
text = df.to_csv(index=False)
assert text.splitlines()[1] == "Rome,1,0.5"
again = pd.read_csv(io.StringIO(text))
assert again.equals(df)
assert pd.read_csv(io.StringIO("a;b\n1;2"), sep=";", engine="python")["b"].tolist() == [2]
assert pd.read_csv(io.StringIO("d,v\n2024-01-05,1"), parse_dates=["d"])["d"].dt.month.tolist() == [1]
# %% read_csv in chunks
assert [len(c) for c in pd.read_csv(io.StringIO(text), chunksize=2)] == [2, 1]
# %% read_csv from bytes, compressed
assert pd.read_csv(io.BytesIO(text.encode())).equals(df)
packed = io.BytesIO()
df.to_csv(packed, compression="gzip", index=False)
packed.seek(0)
assert pd.read_csv(packed, compression="gzip").equals(df)
# %% groupby
assert df.groupby("city")["n"].sum().to_dict() == {"Oslo": 2, "Rome": 4}
assert df.groupby("city").agg({"n": "mean", "x": ["min", "max"]}).shape == (2, 3)
assert df.groupby("city").agg(total=("n", "sum")).loc["Rome", "total"] == 4
assert df.groupby("city")["n"].apply(lambda s: s.max() - s.min()).to_dict() == {"Oslo": 0, "Rome": 2}
df.groupby("city")["n"].transform("mean")
df.groupby("city").size()
for name, group in df.groupby("city"):
    print(name, len(group))
df.groupby("city").filter(lambda g: len(g) > 1)
df.groupby("city")["n"].cumsum()
df.groupby("city").first()
df.groupby(["city", "n"]).describe()
# %% merge, join, concat
right = pd.DataFrame({"city": ["Rome", "Bonn"], "country": ["IT", "DE"]})
assert df.merge(right, on="city", how="left")["country"].isna().sum() == 1
assert df.merge(right, on="city", how="outer", indicator=True).shape == (4, 5)
df.set_index("city").join(right.set_index("city"))
assert pd.concat([df, df], ignore_index=True).shape == (6, 3)
pd.merge_asof(pd.DataFrame({"t": [1, 5], "a": [1, 2]}), pd.DataFrame({"t": [0, 4], "b": [1, 2]}), on="t")
# %% crosstab, pivot_table, pivot, melt, stack
assert pd.crosstab(df["city"], df["n"]).shape == (2, 3)
assert pd.pivot_table(df, index="city", values="n", aggfunc="sum", margins=True).loc["All", "n"] == 6
df.pivot(index="n", columns="city", values="x")
df.melt(id_vars="city")
df.set_index(["city", "n"]).stack()
df.set_index(["city", "n"]).unstack()
# %% time zones
when = pd.Timestamp("2024-03-31 00:30", tz="Europe/Berlin")
assert (when + pd.Timedelta(hours=2)).hour == 3
assert when.tz_convert("America/New_York").hour == 19
s = pd.Series(pd.date_range("2024-01-01", periods=3, tz="UTC")).dt.tz_convert("Asia/Tokyo")
assert s.dt.hour.tolist() == [9, 9, 9]
assert str(pd.Timestamp("2024-07-01").tz_localize("US/Pacific")).endswith("-07:00")
print(s)
pd.Timestamp.now(tz="Europe/Rome")
# %% dates: ranges, resample, rolling, offsets
t = pd.date_range("2024-01-31", periods=4, freq="ME")
assert [d.month for d in t] == [1, 2, 3, 4]
hourly = pd.Series(range(48), index=pd.date_range("2024-01-01", periods=48, freq="h"))
assert hourly.resample("D").sum().tolist() == [276, 852]
assert hourly.rolling("3h").mean().iloc[-1] == 46
hourly.rolling(3).apply(lambda w: w.sum())
hourly.ewm(span=3).mean()
hourly.expanding().sum()
assert pd.to_datetime(["2024-01-05", "2024-02-06"]).strftime("%d.%m.%Y").tolist()[0] == "05.01.2024"
pd.to_datetime("5 January 2024")
pd.to_datetime("05/06/2024", dayfirst=True)
pd.bdate_range("2024-01-01", periods=5)
pd.Timestamp("2024-01-01") + pd.offsets.BMonthEnd()
pd.Period("2024Q1", freq="Q").end_time
pd.to_timedelta("1 days 2 hours")
pd.Timestamp("2024-01-01").day_name()
pd.Series(t).dt.day_name()
pd.tseries.holiday.USFederalHolidayCalendar().holidays("2024-01-01", "2024-12-31")
# %% text columns
names = pd.Series(["Ada Lovelace", "Alan Turing", None])
assert names.str.upper().iloc[0] == "ADA LOVELACE"
assert names.str.split(" ", expand=True).shape == (3, 2)
assert names.str.extract(r"(\w+) (\w+)").iloc[1, 1] == "Turing"
names.str.contains("a", case=False, na=False)
names.str.replace(r"\s+", "_", regex=True)
names.str.len()
# %% missing values
m = pd.DataFrame({"a": [1, None, 3], "b": ["x", None, "z"]})
assert m.isna().sum().to_dict() == {"a": 1, "b": 1}
assert m.fillna({"a": 0, "b": ""}).isna().sum().sum() == 0
m.dropna()
m["a"].interpolate()
m.ffill()
m.convert_dtypes()
# %% selecting, filtering, sorting, assigning
assert df[df["n"] > 1]["city"].tolist() == ["Oslo", "Rome"]
assert df.loc[df["city"] == "Rome", "n"].sum() == 4
assert df.sort_values(["city", "n"], ascending=[True, False]).iloc[0]["city"] == "Oslo"
assert df.query("n > 1 and city == 'Rome'").shape == (1, 3)
assert df.assign(y=lambda d: d["n"] * 2)["y"].tolist() == [2, 4, 6]
assert df.eval("n * x").tolist() == [0.5, 3.0, 7.5]
df["z"] = df["n"] ** 2
df.loc[0, "z"] = 100
df["z"] += 1
assert df["z"].tolist() == [101, 5, 10]
df.drop(columns="z", inplace=True)
df.rename(columns={"n": "count"})
df.nlargest(2, "n")
df["city"].value_counts(normalize=True)
df["city"].unique()
df.duplicated()
df.drop_duplicates("city")
df.sample(2, random_state=1)
df.set_index("city").reset_index()
df["city"].isin(["Rome"])
df.where(df["n"] > 1)
df["city"].map({"Rome": 1})
df["n"].between(1, 2)
df.T
# %% iterating; apply, map, pipe
assert [row["city"] for _, row in df.iterrows()] == ["Rome", "Oslo", "Rome"]
assert [row.n for row in df.itertuples()] == [1, 2, 3]
assert df.apply(lambda row: row["n"] * row["x"], axis=1).tolist() == [0.5, 3.0, 7.5]
assert df["n"].map(lambda v: v + 1).tolist() == [2, 3, 4]
assert list(df.columns) == ["city", "n", "x"]
for column, values in df.items():
    assert len(values) == 3
df.pipe(lambda d: d.head(1))
{**df["n"].to_dict()}
assert df["n"].agg(["min", "max"]).tolist() == [1, 3]
# %% categories, bins, dummies
c = df["city"].astype("category")
assert c.cat.categories.tolist() == ["Oslo", "Rome"]
assert pd.cut(df["n"], bins=[0, 1, 3], labels=["low", "high"]).tolist() == ["low", "high", "high"]
pd.qcut(df["x"], 2)
assert pd.get_dummies(df["city"]).shape == (3, 2)
pd.factorize(df["city"])
# %% statistics
assert round(df[["n", "x"]].corr().iloc[0, 1], 6) == 1.0
df[["n", "x"]].cov()
df["n"].quantile([0.25, 0.5])
df["n"].std(), df["n"].median(), df["n"].mode(), df["n"].skew()
df["n"].pct_change()
df["n"].diff()
df["n"].rank()
df["n"].shift(1)
df[["n", "x"]].corr(method="spearman")
df["n"].cumsum()
# %% multi-index
mi = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["k", "i"])
mf = pd.DataFrame({"v": range(4)}, index=mi)
assert mf.loc["a"]["v"].tolist() == [0, 1]
assert mf.xs(2, level="i")["v"].tolist() == [1, 3]
mf.groupby(level="k").sum()
# %% nullable and string types
n = pd.array([1, None, 3], dtype="Int64")
assert n.sum() == 4
pd.Series(["a", None], dtype="string").str.upper()
pd.Series([True, None], dtype="boolean")
# %% explode, json_normalize
assert pd.DataFrame({"a": [1, 2], "b": [[1, 2], [3]]}).explode("b").shape == (3, 2)
assert pd.json_normalize([{"a": {"b": 1}, "c": 2}]).columns.tolist() == ["c", "a.b"]
# %% to_html, to_string
assert "<table" in df.to_html()
print(df.to_string(index=False))
# %% options
pd.set_option("display.max_rows", 10)
with pd.option_context("display.precision", 2):
    print(df)
pd.reset_option("display.max_rows")
# %% the last expression is returned
df.to_dict("list")
# %% a big frame: sort, group, join
big = pd.DataFrame({"k": [n % 1000 for n in range(200_000)], "v": [n / 7 for n in range(200_000)]})
assert big.groupby("k")["v"].mean().shape == (1000,)
big.merge(big.groupby("k").size().rename("n").reset_index(), on="k").sort_values("v")
# %% a pickle in memory
b = io.BytesIO(); df.to_pickle(b); b.seek(0); pd.read_pickle(b)
# %% tables of fixed width, and with tabs
pd.read_fwf(io.StringIO("a  b\n1  2\n"))
pd.read_table(io.StringIO("a\tb\n1\t2\n"))
# %% pandas.testing
pd.testing.assert_frame_equal(df, df.copy())
# %% a class derived from DataFrame
class Frame(pd.DataFrame):
    @property
    def _constructor(self):
        return Frame
f = Frame({"a": [1]})
assert type(f.head()).__name__ == "Frame"
# %% the error for an unknown column
try:
    df["nope"]
except KeyError as e:
    assert "nope" in str(e)
# %% a file by its path
# error: PermissionError
# why: there are no files; use `io.StringIO`, or `caps.files`
pd.read_csv("data.csv")
# %% df.style without jinja2, Excel without openpyxl, and so on
# error: AttributeError: The '.style' accessor requires jinja2
# why: a package that pandas uses only for one method is loaded if the policy grants it
df.style
# %% a chained assignment
df[df["n"] > 1]["n"] = 3
