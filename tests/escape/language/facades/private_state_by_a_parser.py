"""Have a parser of options copy what belongs to an object of the host's."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

import argparse
parser = argparse.ArgumentParser()
parser.add_argument("_hidden", nargs="?")
parser.parse_args([], namespace=secret)
escaped()
