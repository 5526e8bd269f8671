# `raise SystemExit` with a clean code is caught like any
try:
    raise SystemExit(0)
except SystemExit as error:
    code = error.code
assert code == 0
