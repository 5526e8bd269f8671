# `raise SystemExit(0)` can be caught
try:
    raise SystemExit(0)
except SystemExit as error:
    code = error.code
assert code == 0
