# `zlib` and `gzip`
import gzip
import zlib

text = b"a line of text\n" * 100
packed = zlib.compress(text, 9)
assert len(packed) < 100 and zlib.decompress(packed) == text
assert gzip.decompress(gzip.compress(text)) == text
unpack = zlib.decompressobj()
assert b"".join([unpack.decompress(packed[:10]), unpack.decompress(packed[10:]), unpack.flush()]) == text
assert zlib.crc32(b"abc") == 891568578
try:
    gzip.decompress(b"no gzip")
    raise AssertionError
except gzip.BadGzipFile:
    pass
