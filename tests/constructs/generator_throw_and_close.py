# generator throw and close
def g():
    try:
        yield 1
    except ValueError:
        yield "caught"
one = g()
next(one)
r = one.throw(ValueError("x"))
one.close()
result = r
assert result == 'caught'
