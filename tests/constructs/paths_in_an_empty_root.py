# `os.getcwd` and absolute paths
import os
import os.path
from os.path import abspath

assert os.getcwd().startswith("/")
assert abspath("/a/../b") == os.path.abspath("/b") == "/b"
assert os.path.isabs(abspath("x")) and abspath("x") == os.path.join(os.getcwd(), "x")
assert os.path.relpath("/a/b", "/a/c") == "../b" and os.path.relpath("/a", "/a") == "."
assert os.path.expanduser("a/~b") == "a/~b" and os.path.expandvars("a") == "a"
