"""Ask for another capability under the key of an answered one."""

# stopped: harmless
# value: ["ok", "policy_denied"]
# decisions: [["allow", "allowed"], ["deny", "not_allowed"]]

first = outcome(liar.ask("probe.allowed", {}, idempotency_key="k"))
second = outcome(liar.ask("probe.touch", {}, idempotency_key="k"))
liar.finish([first, second])
