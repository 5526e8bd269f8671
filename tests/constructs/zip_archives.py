# `zipfile`, `gzip.open` and `io.TextIOWrapper` on memory
import csv
import gzip
import io
import zipfile

memory = io.BytesIO()
with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("a.txt", "hello\n" * 100)
    archive.writestr("d/b.csv", "x,y\n1,2\n")
    with archive.open("c.bin", "w") as file:
        file.write(b"\0\1")
with zipfile.ZipFile(memory) as archive:
    assert archive.namelist() == ["a.txt", "d/b.csv", "c.bin"] and archive.testzip() is None
    assert archive.getinfo("a.txt").file_size == 600 > archive.getinfo("a.txt").compress_size
    with archive.open("d/b.csv") as file:
        assert list(csv.DictReader(io.TextIOWrapper(file, "utf-8"))) == [{"x": "1", "y": "2"}]
assert not zipfile.is_zipfile(io.BytesIO(b"x"))

packed = io.BytesIO()
with gzip.open(packed, "wt", encoding="utf-8") as file:
    print("é", file=file)
with gzip.GzipFile(fileobj=io.BytesIO(packed.getvalue())) as file:
    assert file.read() == "é\n".encode()


class Numbers(io.RawIOBase):
    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:2] = b"1\n"
        return 2


lines = io.TextIOWrapper(io.BytesIO(b"a\r\nb"), encoding="ascii")
assert lines.readlines() == ["a\n", "b"] and isinstance(lines, io.TextIOBase)
assert io.BufferedReader(Numbers()).read(2) == b"1\n"
