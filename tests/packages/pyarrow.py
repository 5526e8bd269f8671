# package: pyarrow
# modules: pyarrow pandas
# note: a worker has one thread: pass `use_threads=False`; `read_table` of parquet and `filter` by an expression have no such way and wait until `wall_ms`
import io
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

t = pa.table({"a": [1, 2, 3], "b": ["x", "y", None]})

# %% tables, arrays, compute functions, `filter` by a mask
assert t.num_rows == 3 and pc.sum(t["a"]).as_py() == 6
print(t)
assert t.to_pylist()[0] == {"a": 1, "b": "x"} and t.to_pydict()["a"] == [1, 2, 3]
assert t.filter(pc.greater(t["a"], 1)).num_rows == 2
t["a"].cast(pa.float64()), t["b"].dictionary_encode(), pc.unique(t["b"]), pc.value_counts(t["b"]), t["a"].to_numpy()
t.sort_by("a")
# %% group_by and to_pandas with `use_threads=False`
t.group_by("b", use_threads=False).aggregate([("a", "sum")])
assert t.to_pandas(use_threads=False).shape == (3, 2)
# %% from pandas, also large frames
pa.Table.from_pandas(pd.DataFrame({"a": [1, 2]}))
pa.Table.from_pandas(pd.DataFrame({f"c{i}": range(5000) for i in range(120)}))
# %% parquet in memory, with `ParquetFile(..., pre_buffer=False).read(use_threads=False)`
out = io.BytesIO()
pq.write_table(t, out)
out.seek(0)
assert pq.ParquetFile(out, pre_buffer=False).read(use_threads=False).num_rows == 3
# %% streams of record batches
sink = pa.BufferOutputStream()
writer = pa.ipc.new_stream(sink, t.schema)
writer.write_table(t)
writer.close()
assert pa.ipc.open_stream(sink.getvalue()).read_all().num_rows == 3
# %% its types in pandas
x = pd.Series([1, 2, None], dtype="int64[pyarrow]")
x.sum(), x + 1, x.value_counts()
y = pd.Series(["a", "b"], dtype="string[pyarrow]")
y.str.upper(), y.str.contains("a"), y.unique(), y.sort_values()
d = pd.DataFrame({"k": y, "v": [1, 2]})
d.groupby("k").sum(), d.merge(d, on="k")
pd.DataFrame({"a": ["x"] * 1000}).convert_dtypes(dtype_backend="pyarrow")
# %% `to_pandas()`, feather, `pyarrow.json`
# error: Failed to launch worker thread
# why: they use the pool of threads
t.to_pandas()
# %% `pyarrow.csv`, `read_csv(engine="pyarrow")`
# error: PermissionError
# why: they make a pipe; use the other engines of `read_csv`
pd.read_csv(io.BytesIO(b"a,b\n1,2\n"), engine="pyarrow")
# %% compute functions with time zones
# error: Cannot locate or parse timezone
# why: they read the files of the system; pandas has the time zones in memory
pc.strftime(pa.array([1], pa.timestamp("s", tz="Europe/Rome")))
