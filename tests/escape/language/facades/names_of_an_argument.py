"""Have `argparse` set and read attributes by names of one's own choice."""

# stopped: raises AttributeError
# because: `__class__` reaches into the interpreter

import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--x", dest="__globals__")
for target in (print, lambda: 0, argparse):
    try:
        take(parser.parse_args(["--x", "1"], namespace=target))
        escaped()
    except AttributeError:
        pass
parser = argparse.ArgumentParser()
parser.add_argument("--y", dest="__class__")
parser.parse_args(["--y", "1"])
escaped()
