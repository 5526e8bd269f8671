"""Ask for every capability of a domain in one request."""

# stopped: harmless
# value: ["policy_denied", "policy_denied", "policy_denied", "policy_denied"]

worker.finish([outcome(worker.ask(name, {})) for name in ("probe.*", "*.*", "files.*", "...")])
