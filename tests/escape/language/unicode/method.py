"""Write a refused method with a letter that Unicode folds to another."""

# stopped: refused
# because: `__getattribute__` reaches into the interpreter

class C:
    def __ｇetattribute__(self, name): escaped()
