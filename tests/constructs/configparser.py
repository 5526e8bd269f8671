# `configparser`
import configparser
import io

config = configparser.ConfigParser()
config.read_string("""
[DEFAULT]
timeout = 5

[server]
host = example.org
port = 80
url = http://%(host)s:%(port)s/
debug = yes
""")
server = config["server"]
assert config.sections() == ["server"] and "server" in config
assert (server["host"], server.getint("port"), server.getboolean("debug")) == ("example.org", 80, True)
assert server["url"] == "http://example.org:80/"
assert config.getfloat("server", "timeout") == 5.0
assert config.get("server", "missing", fallback="none") == "none"
config["client"] = {"name": "ann"}
config.set("client", "age", "5")
written = io.StringIO()
config.write(written)
assert "[client]\nname = ann\nage = 5" in written.getvalue()
try:
    config.get("nowhere", "x")
    raise AssertionError
except configparser.NoSectionError as error:
    assert str(error) == "No section: 'nowhere'"
config.read_dict({"more": {"a": 1}})
assert dict(config.items("more"))["a"] == "1"
