"""{"files": {"dirs": ["reports"]}}"""

await caps.files.write(path="q3.txt", content="good")
print((await caps.files.read(path="q3.txt")).content)

# prints
# good
