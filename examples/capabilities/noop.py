"""{"noop": {}}"""

print([name for name in dir(caps) if name.islower()])

# prints
# []
