# a descriptor with `__get__`, `__set__` and `__set_name__`
class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        if value < 0:
            raise ValueError("negative")
        setattr(instance, self.name, value)


class Account:
    balance = Positive()


account = Account()
account.balance = 4
assert account.balance == 4
try:
    account.balance = -1
except ValueError as error:
    assert str(error) == "negative"
