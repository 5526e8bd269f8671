"""{"test_math": {"tools": ["add", "divide"]}}"""

print((await caps.math.add(a=2, b=3)).result)
try:
    await caps.math.divide(a=1, b=0)
except ProviderError as error:
    print(error)
print(hasattr(caps.math, "multiply"))

# prints
# 5
# division by zero
# False
