"""Ask for every capability of a domain at once."""

# stopped: harmless
# value: ["policy_denied", "policy_denied", "policy_denied", "policy_denied"]

liar.finish([outcome(liar.ask(name, {})) for name in ("probe.*", "*.*", "files.*", "...")])
