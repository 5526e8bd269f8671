"""Plans: steps that call tools, checked as a whole before they run. Decides nothing about a call:
`validate` asks the decision function, and `run` makes each call through the broker."""
