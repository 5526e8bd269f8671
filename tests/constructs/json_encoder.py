# json encoder
import json
class Encoder(json.JSONEncoder):
    def default(self, value): return sorted(value)
result = json.dumps({"s": {2, 1}}, cls=Encoder)
assert result == '{"s": [1, 2]}'
