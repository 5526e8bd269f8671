"""Make a class through the alias that `type[int]` is."""

# stopped: raises TypeError
# because: `type` takes one argument; write a class statement to make a class

take(type[int]("X", (), {}))
escaped()
