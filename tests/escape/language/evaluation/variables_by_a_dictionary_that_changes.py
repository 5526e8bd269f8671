"""Pass variables by a `dict` subclass that answers differently each time."""

# stopped: raises NameError
# because: name 'leaked' is not defined

class Changing(dict):
    asked = 0
    def items(self):
        self.asked += 1
        if self.asked % 2:
            return [("x", 1)]
        return [("__builtins__", {"leaked": escaped}), ("<own>", lambda value, name: value)]
    def update(self, *others, **names):
        for other in others:
            take(list(other.values()))
            if "__builtins__" in other or "<own>" in other:
                escaped()
    def pop(self, name, *default):
        take(name)
    def __setitem__(self, name, value):
        take(value)
    def __class_getitem__(cls, item): escaped()

changing = Changing(x=1)
for _turn in range(4):
    exec("x = 2\ny = 3", changing)
    exec("x = 2\ny = 3", {}, changing)
    exec("x = 2\ny = 3", locals=changing)
eval("leaked()", changing, changing)
