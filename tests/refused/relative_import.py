# what: relative imports
# why: there is no package
# raises: SourceError: there is no package to import from
from . import x
