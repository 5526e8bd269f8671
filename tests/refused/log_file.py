# what: `logging.basicConfig(filename=…)`
# why: a worker has no file system; records go to the captured output
# raises: ValueError: there are no files here
import logging
logging.basicConfig(filename="app.log")
