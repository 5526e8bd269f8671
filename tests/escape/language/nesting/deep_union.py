"""Make a type of many parts that is compared part by part."""

# stopped: harmless
# where: worker

kinds = int
for number in range(2000): kinds = kinds | list[number]
None
