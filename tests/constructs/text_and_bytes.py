# text and bytes
import base64, hashlib, string, textwrap, uuid
result = (
    base64.b64encode(b"a").decode(),
    hashlib.sha256(b"").hexdigest()[:6],
    string.ascii_lowercase[:3],
    textwrap.dedent("  a"),
    textwrap.shorten("hello big world", 11),
    str(uuid.uuid5(uuid.NAMESPACE_DNS, "a.b"))[:8],
    "ä".encode("latin-1"),
    b"\xe4".decode("cp1252"),
    "a".encode("utf-16-le"),
    "\N{BULLET}",
    "a".encode("idna"),
)
assert result == ('YQ==', 'e3b0c4', 'abc', 'a', 'hello [...]', '0e7af403', b'\xe4', 'ä', b'a\x00', '•', b'a')
