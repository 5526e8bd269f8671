# json errors
import json
try:
    json.loads("{")
except json.JSONDecodeError as e:
    r = e.pos
result = r
assert result == 1
