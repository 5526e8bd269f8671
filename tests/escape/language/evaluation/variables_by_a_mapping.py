"""Pass variables by a mapping that is not a dictionary, and sees what is looked up."""

# stopped: raises TypeError
# because: variables are given as a dictionary

from collections import ChainMap, UserDict

class Spy(UserDict):
    def __getitem__(self, name): escaped()
    def __setitem__(self, name, value): take(value)
    def keys(self): escaped()

for mapping in (Spy(), ChainMap({}, {}), object(), [], "x"):
    for names in ({"globals": mapping}, {"locals": mapping}, {"globals": {}, "locals": mapping}):
        try:
            eval("unknown", **names)
            escaped()
        except TypeError:
            pass
exec("x = unknown", globals={}, locals=Spy())
