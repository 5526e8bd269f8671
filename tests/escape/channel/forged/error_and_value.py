"""Report an error and give a result, too."""

# stopped: failed

report = ErrorReport(type="ValueError", code="execution_error", message="x")
worker.say(ResultMessage, error=report, value=encode_value("fine", max_bytes=100))
