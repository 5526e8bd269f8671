"""Be asked for the names that are not there."""

# stopped: raises NameError
# because: name 'unknown' is not defined

class Spy(dict):
    def __missing__(self, key): escaped()
    def __getitem__(self, key): escaped()
    def get(self, *key): escaped()

eval("unknown", Spy(), Spy())
