# try
order = []
for n in (0, 1):
    try:
        1 / n
    except ZeroDivisionError as e:
        order.append(str(e))
    else:
        order.append("else")
    finally:
        order.append("finally")
result = order
assert result == ['division by zero', 'finally', 'else', 'finally']
