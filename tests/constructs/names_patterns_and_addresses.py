# `fnmatch`, `ipaddress` and `tomllib`
import fnmatch
import io
import ipaddress
import re
import tomllib

assert fnmatch.filter(["a.py", "b.txt"], "*.py") == ["a.py"]
assert fnmatch.fnmatch("a.py", "?.p[xy]") and re.match(fnmatch.translate("a*"), "abc")
network = ipaddress.ip_network("10.0.0.0/30")
assert [str(host) for host in network.hosts()] == ["10.0.0.1", "10.0.0.2"]
assert ipaddress.ip_address("10.0.0.2") in network and network.num_addresses == 4
assert ipaddress.IPv6Address("::1").is_loopback
settings = tomllib.loads('title = "a"\n[server]\nports = [80, 443]\n')
assert settings == {"title": "a", "server": {"ports": [80, 443]}}
assert tomllib.load(io.BytesIO(b"a = 1.5")) == {"a": 1.5}
try:
    tomllib.loads("a =")
    raise AssertionError
except tomllib.TOMLDecodeError:
    pass
