# `shlex`
import shlex

assert shlex.split("a 'b c' \"d e\" # f", comments=True) == ["a", "b c", "d e"]
assert shlex.quote("it's") == "'it'\"'\"'s'"
assert shlex.join(["a", "b c"]) == "a 'b c'"
assert list(shlex.shlex("a=b|c", punctuation_chars=True)) == ["a=b", "|", "c"]
