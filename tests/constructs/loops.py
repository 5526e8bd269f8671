# loops
r = []
for n in range(5):
    if n == 1: continue
    if n == 3: break
    r.append(n)
else:
    r.append("never")
while r and len(r) < 4:
    r.append(0)
else:
    r.append("else")
result = r
assert result == [0, 2, 0, 0, 'else']
