"""Programs that use every name of the facades for compression, addresses, patterns and contexts."""

# ruff: noqa: E501 - a program reads better in few lines than in short ones
from __future__ import annotations

FORMAT_SAMPLES: dict[str, list[str]] = {
    "contextvars": [
        "import contextvars as c\nv = c.ContextVar('v', default=1)\nt = v.set(2)\nctx = c.copy_context()\n"
        "found = [v.get(), ctx[v], isinstance(ctx, c.Context), isinstance(t, c.Token), t.old_value is c.Token.MISSING]\n"
        "v.reset(t)\n[*found, v.get(), ctx.run(v.get)]",
    ],
    "fnmatch": [
        "import fnmatch as f\n[f.filter(['a.b', 'c'], '*.b'), f.fnmatch('a', '?'), f.fnmatchcase('A', 'a'), "
        "f.translate('a*')]",
    ],
    "gzip": [
        "import gzip\ntry:\n    gzip.decompress(b'x')\nexcept gzip.BadGzipFile as e:\n    error = str(e)\n"
        "[error, gzip.decompress(gzip.compress(b'abc'))]",
    ],
    "ipaddress": [
        "import ipaddress as i\ndef error(f, *a):\n    try:\n        f(*a)\n    except ValueError as e:\n"
        "        return type(e).__name__\n[i.ip_address('::1'), i.ip_network('10.0.0.0/8'), "
        "i.ip_interface('10.0.0.1/8'), i.IPv4Address(1), i.IPv4Interface('1.2.3.4/8').network, "
        "i.IPv4Network('10.0.0.0/30').broadcast_address, i.IPv6Address('::2') + 1, "
        "i.IPv6Interface('::1/64'), i.IPv6Network('::/127').num_addresses, "
        "error(i.IPv4Address, 'x'), error(i.IPv4Network, '1.1.1.1/x'), i.AddressValueError.__name__, "
        "i.NetmaskValueError.__name__, i.IPV4LENGTH, i.IPV6LENGTH, i.v4_int_to_packed(1), "
        "i.v6_int_to_packed(1), list(i.collapse_addresses([i.ip_network('10.0.0.0/9'), "
        "i.ip_network('10.128.0.0/9')])), list(i.summarize_address_range(i.ip_address('10.0.0.0'), "
        "i.ip_address('10.0.0.4'))), sorted([i.ip_address('10.0.0.2'), i.ip_network('10.0.0.0/30')], "
        "key=i.get_mixed_type_key)]",
    ],
    "tomllib": [
        "import tomllib, io\ntry:\n    tomllib.loads('a')\nexcept tomllib.TOMLDecodeError as e:\n    error = str(e)\n"
        "[error, tomllib.loads('a = [1, 2.5]\\n[b]\\nc = 1979-05-27'), tomllib.load(io.BytesIO(b'x = true'))]",
    ],
    "zlib": [
        "import zlib as z\ntry:\n    z.decompress(b'x')\nexcept z.error as e:\n    error = str(e)\n"
        "c = z.compressobj(z.Z_BEST_SPEED, z.DEFLATED, z.MAX_WBITS, z.DEF_MEM_LEVEL, z.Z_DEFAULT_STRATEGY)\n"
        "d = z.decompressobj()\n[error, d.decompress(c.compress(b'ab') + c.flush(z.Z_FINISH)), "
        "z.decompress(z.compress(b'a' * 9)), z.crc32(b'a'), z.adler32(b'a'), z.DEF_BUF_SIZE, "
        "z.Z_BEST_COMPRESSION, z.Z_BLOCK, z.Z_DEFAULT_COMPRESSION, z.Z_FILTERED, z.Z_FIXED, "
        "z.Z_FULL_FLUSH, z.Z_HUFFMAN_ONLY, z.Z_NO_COMPRESSION, z.Z_NO_FLUSH, z.Z_PARTIAL_FLUSH, "
        "z.Z_RLE, z.Z_SYNC_FLUSH, z.Z_TREES]",
    ],
}
