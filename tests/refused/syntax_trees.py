# what: `ast.parse`
# why: code could change the classes of nodes, which our own compiler uses; `ast.literal_eval` works
# raises: ImportError: cannot import name 'parse' from 'ast' here
from ast import parse
