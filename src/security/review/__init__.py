"""Review of policies: what one decides and why, what a change would do, what is wrong with it.

catalogue.py      the registered capabilities and domains, as these tools need them
policy_tests.py   the tests in a policy, run one by one
explain.py        which rule decided, and the smallest change that would allow the call
diff.py           what one policy allows compared to another; width.py: wider, narrower, mixed
lint.py           rules that do nothing, or more than was meant; lint_codes.py: the codes
replay.py         what another policy would have decided about the calls of a log
learn.py          the smallest policy for the calls of a log, with the evidence for each rule
log_decisions.py  the decisions of a log, for replay and learn
log_summary.py    the calls that a log shows, for learn; suggest_limits.py: limits from their use
scope_answers.py  what a scope tells these tools beyond allow and refuse
plurals.py        counts in sentences

Everything here is pure: policies, catalogues and records in, values out. The one exception: the
file system is asked where the directories of a scope and the policy's own file really are. Nothing
here grants anything; decisions come from `decision.decide`. Only replay applies its rules a second
time, to arguments that a log hides in part; a property test proves that it agrees with `decide`.
"""
