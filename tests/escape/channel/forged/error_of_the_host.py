"""Report an error of the code as one of the host's."""

# stopped: failed

report = ErrorReport(type="PolicyDeniedError", code="audit_error", message="the log is broken")
worker.say(ResultMessage, error=report)
