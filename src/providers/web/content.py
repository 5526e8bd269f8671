"""What a body is: text or binary, HTML or not, and in which encoding. Pure.

The declared type decides first, then the bytes: what has NUL bytes or begins like a well-known
binary format is binary, whatever the server says. Encodings are those of the web's own list, by
their names; a codec of Python that is none of these (`zip`, `unicode_escape`, ...) is never used.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

_TEXT_TYPES: Final = frozenset(
    """
    application/atom+xml application/csv application/ecmascript application/graphql
    application/javascript application/json application/ld+json application/rss+xml application/rtf
    application/sql application/toml application/typescript application/x-httpd-php
    application/x-javascript application/x-ndjson application/x-sh application/x-tex
    application/x-www-form-urlencoded application/x-yaml application/xhtml+xml application/xml
    application/xml-dtd application/yaml image/svg+xml message/http message/rfc822
    """.split()
)
_TEXT_SUFFIXES: Final = ("+json", "+xml", "+yaml")
_HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
_BINARY_STARTS: Final = (
    b"%PDF-",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x7fELF",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"OggS",
    b"ID3",
    b"RIFF",
    b"wOFF",
    b"wOF2",
)
_SNIFFED_BYTES: Final = 4096
_META_BYTES: Final = 1024
_META_CHARSET: Final = re.compile(
    rb"<meta[^>]{0,256}?charset\s{0,8}=\s{0,8}[\"']?\s{0,8}([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE
)
_CHARSET: Final = re.compile(
    r";\s{0,8}charset\s{0,8}=\s{0,8}\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE
)
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The encodings of the web (WHATWG), as Python names them; labels in use besides these names.
_ENCODINGS: Final = frozenset(
    """
    utf-8 cp866 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10
    iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-roman cp874 cp1250 cp1251 cp1252
    cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 mac-cyrillic gb18030 big5 big5hkscs euc_jp iso2022_jp
    shift_jis cp932 euc_kr cp949 utf-16-be utf-16-le
    """.split()
)
# The web reads these as their larger relatives.
_LARGER: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}


def media_type(content_type: str) -> str:
    """The type alone, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def is_declared_binary(content_type: str) -> bool:
    """Whether the declared type is one that has no text. No type at all decides nothing."""
    kind = media_type(content_type)
    return bool(kind) and not (
        kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(_TEXT_SUFFIXES)
    )


def is_html(content_type: str, data: bytes) -> bool:
    """Whether the content is HTML: by its type, or without one by its first bytes."""
    kind = media_type(content_type)
    if kind:
        return kind in _HTML_TYPES
    start = data[:_SNIFFED_BYTES].lstrip()[:64].lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body"))


def is_binary(data: bytes) -> bool:
    """Whether the bytes are no text, whatever was declared."""
    if data.startswith(tuple(mark for mark, _ in _BOMS)):
        return False
    return data.startswith(_BINARY_STARTS) or b"\0" in data[:_SNIFFED_BYTES]


def decoded(content_type: str, data: bytes) -> str:
    """The text. Bytes that are not valid in its encoding become U+FFFD."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    found = _CHARSET.search(content_type)
    declared = known_encoding(found[1]) if found else None
    if declared is None and (meta := _META_CHARSET.search(data[:_META_BYTES])):
        declared = known_encoding(meta[1].decode("ascii"))
        if declared is not None and declared.startswith("utf-16"):
            declared = "utf-8"  # it could not have been read so far
    if declared is not None:
        return data.decode(declared, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # Text that was cut off within a character is UTF-8 anyway.
        is_cut = error.end == len(data) and len(data) - error.start < 4
        return data.decode("utf-8" if is_cut else "cp1252", "replace")


def known_encoding(label: str) -> str | None:
    """The codec of Python for an encoding of the web; None if it is none of these."""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return None
    name = _LARGER.get(name, name)
    return name if name in _ENCODINGS else None
