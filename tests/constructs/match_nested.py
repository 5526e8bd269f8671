# nested patterns with guards, captures and alternatives
def describe(event):
    match event:
        case {"kind": "move", "to": [x, y]} if x == y:
            return f"diagonal {x}"
        case {"kind": "move", "to": [x, y], **rest}:
            return f"to {x},{y} {sorted(rest)}"
        case {"kind": "say" | "shout" as how, "text": str(text)}:
            return f"{how} {text}"
        case [first, *_, last]:
            return f"{first}..{last}"
        case _:
            return "?"


assert describe({"kind": "move", "to": [1, 1]}) == "diagonal 1"
assert describe({"kind": "move", "to": [1, 2], "by": "me"}) == "to 1,2 ['by']"
assert describe({"kind": "shout", "text": "hey"}) == "shout hey"
assert describe([1, 2, 3]) == "1..3"
assert describe(0) == "?"
