"""Override a private method of a printer, and read its arguments."""

# stopped: raises AttributeError
# because: has no private attributes

import pprint
class Mine(type(pprint.PrettyPrinter())):
    def _format(self, *args):
        for each in args:
            take(each)
        args[1]._sink
Mine().pprint([1])
