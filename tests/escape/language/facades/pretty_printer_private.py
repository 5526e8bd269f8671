"""Override what a printer keeps to itself, and look at what it is handed."""

# stopped: raises AttributeError
# because: has no private attributes

import pprint
class Mine(type(pprint.PrettyPrinter())):
    def _format(self, *args):
        for each in args:
            take(each)
        args[1]._sink
Mine().pprint([1])
