"""Policy, scopes, decisions and the audit log. Runs on the host only; never in a worker."""
