# main guard
r = 0
if __name__ == '__main__':
    r = 1
result = r
assert result == 1
