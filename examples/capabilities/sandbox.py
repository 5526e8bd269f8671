"""{"sandbox": {}, "test_math": {}}"""

code = "print(len(rows)); hasattr(caps, 'math')"
policy = {"allow": []}  # beneath the policy of this code: it can only take away
done = await caps.sandbox.execute_code(code=code, inputs={"rows": [1, 2]}, policy=policy)
print(done.ok, done.value, done.stdout)

# prints
# True False 2
