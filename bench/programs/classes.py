"""Objects with private state, properties, inheritance and operators: a small bank."""


class Money:
    __slots__ = ("_cents",)

    def __init__(self, cents):
        self._cents = cents

    def __add__(self, other):
        return Money(self._cents + other._cents)

    def __lt__(self, other):
        return self._cents < other._cents

    @property
    def cents(self):
        return self._cents


class Account:
    def __init__(self, owner):
        self._owner = owner
        self._balance = Money(0)
        self._history = []

    def deposit(self, amount):
        self._balance = self._balance + amount
        self._history.append(amount.cents)
        return self

    def total(self):
        return sum(self._history)


class Savings(Account):
    def __init__(self, owner, rate):
        super().__init__(owner)
        self._rate = rate

    def deposit(self, amount):
        super().deposit(amount)
        self._history.append(int(amount.cents * self._rate))
        return self


def main():
    accounts = [Savings(str(n), 0.01) if n % 2 else Account(str(n)) for n in range(50)]
    for turn in range(400):
        for account in accounts:
            account.deposit(Money(turn))
    richest = max(accounts, key=lambda account: account.total())
    return richest.total(), sum(account.total() for account in accounts)
