"""Import what only modules of the library can import."""

# stopped: raises ModuleNotFoundError
# because: `shutil` cannot be imported here

import argparse
argparse.ArgumentParser().format_help()
import shutil
escaped()
