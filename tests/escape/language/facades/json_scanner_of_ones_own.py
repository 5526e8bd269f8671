"""Make the scanner behind a decoder with insides of its own."""

# stopped: harmless

import json
Scanner = type(json.JSONDecoder().scan_once)
class Inside:
    strict = object_hook = object_pairs_hook = None
    @staticmethod
    def parse_int(text): take(text); return 1
    parse_float = parse_constant = parse_int
Scanner(Inside)('[1, 1.5, NaN, {"a": 1}]', 0)
None
