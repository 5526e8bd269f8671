# json
import json
result = json.loads(json.dumps({"a": [1, None, "ä"]}, indent=1, sort_keys=True, default=str))
assert result == {'a': [1, None, 'ä']}
