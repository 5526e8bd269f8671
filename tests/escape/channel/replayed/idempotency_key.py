"""Ask for another capability under the key of an answered one."""

# stopped: harmless
# value: ["ok", "policy_denied"]
# decisions: [["allow", "allowed"], ["deny", "not_allowed"]]

first = outcome(worker.ask("probe.allowed", {}, idempotency_key="k"))
second = outcome(worker.ask("probe.touch", {}, idempotency_key="k"))
worker.finish([first, second])
