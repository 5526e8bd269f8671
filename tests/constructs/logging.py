# `logging`
import io
import logging

written = io.StringIO()
handler = logging.StreamHandler(written)
handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
log = logging.getLogger(__name__)
log.setLevel(logging.INFO)
log.addHandler(handler)
log.propagate = False
log.debug("not shown")
log.info("%s and %d", "a", 2)
log.warning("careful: %(what)s", {"what": "x"})
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed")
lines = written.getvalue().splitlines()
assert lines[:3] == ["INFO __main__: a and 2", "WARNING __main__: careful: x", "ERROR __main__: failed"]
assert lines[3] == "Traceback (most recent call last):" and lines[-1].startswith("ZeroDivisionError: ")


class Kept(logging.Handler):
    def __init__(self):
        super().__init__(logging.DEBUG)
        self.records = []

    def emit(self, record):
        self.records.append(self.format(record))


kept = Kept()
kept.setFormatter(logging.Formatter("{funcName}:{levelno}:{message}:{user}", style="{"))
child = logging.getLogger("app.db")
child.propagate = False
child.setLevel("DEBUG")
child.addHandler(kept)
child.addFilter(lambda record: "secret" not in record.getMessage())


def query():
    child.debug("run", extra={"user": "ann"})
    child.error("a secret", extra={"user": "ann"})


query()
assert kept.records == ["query:10:run:ann"]
assert logging.getLogger("app.db") is child and child.isEnabledFor(logging.DEBUG)
assert logging.getLevelName(30) == "WARNING" and logging.getLevelName("INFO") == 20
adapter = logging.LoggerAdapter(child, {"user": "bob"})
adapter.info("hello")
assert kept.records[-1] == "<module>:20:hello:bob"
logging.disable(logging.CRITICAL)
child.critical("no", extra={"user": "x"})
logging.disable(logging.NOTSET)
assert len(kept.records) == 2
