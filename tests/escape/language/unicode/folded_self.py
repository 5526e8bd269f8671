"""Write the checked variable by letters that Unicode folds."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        ｓelf = secret
        return self._hidden
C().read()
escaped()
