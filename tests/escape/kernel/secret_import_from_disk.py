"""Put the import system back and load a module of the host. There is no file to load it from."""

# stopped: harmless
# alone: none
# control: works

import importlib.machinery
import sys

library = os.path.dirname(os.__file__)
sys.path[:] = [library]
sys.meta_path.append(importlib.machinery.PathFinder)
sys.path_hooks.append(
    importlib.machinery.FileFinder.path_hook(
        (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES)
    )
)
try:
    import netrc  # one that no worker has loaded

    loaded = netrc.__name__
except (ImportError, OSError):
    loaded = None
loaded
