"""Read the globals of a module of the library that runs in user space."""

# stopped: refused
# because: `__globals__` reaches into the interpreter

import argparse
take(argparse.ArgumentParser.parse_args.__globals__)
