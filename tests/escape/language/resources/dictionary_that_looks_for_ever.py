"""Keep Python in one lookup for ever: a dictionary that has changed meanwhile looks again."""

# stopped: limited
# where: worker

class Key:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        names.clear()
        names[Key()] = 1
        return False

names = {}
names[Key()] = 1
names.get(Key())
None
