"""The budget of an execution: what its calls may cost, and the watchdog that ends it.

The cost of a call is the estimate on the tool card of its function. The decision refuses the call
that would exceed the budget, before it has any effect; then the watchdog ends the execution, also
if the code caught the error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from caps.capabilities.broker.evidence import DecisionSummary
from caps.protocol.argument_checks import require
from caps.protocol.errors import LimitExceededError
from caps.security.policy import COST
from caps.security.reasons import LIMITS, ReasonCode

T = TypeVar("T")


def check_budget(budget: object) -> None:
    """Raise ConfigurationError unless it is None or a cost."""
    fits = isinstance(budget, int | float) and not isinstance(budget, bool) and 0 <= budget <= COST
    require(budget is None or fits, "budget", budget, f"a number from 0 to {COST:g}, or None")


class BudgetWatchdog:
    """Ends one execution once a call was refused because of its cost."""

    def __init__(self, budget: float, notify: Callable[[DecisionSummary], None] | None) -> None:
        """`notify` gets each decision, too."""
        self._budget = budget
        self._notify = notify
        self._scope = anyio.CancelScope()
        self._refused: DecisionSummary | None = None

    def see(self, decision: DecisionSummary) -> None:
        """The decision is being recorded; a cancellation does not interrupt that."""
        if self._notify is not None:
            self._notify(decision)
        if decision.reason == ReasonCode.COST_EXCEEDED.value and self._refused is None:
            self._refused = decision
            self._scope.cancel()

    async def watch(self, work: Awaitable[T]) -> T:
        """The result of `work`. LimitExceededError, after cancelling it, over the budget."""
        with self._scope:
            return await work
        refused = self._refused
        assert refused is not None  # nothing else cancels the scope
        raise LimitExceededError(
            f"the execution was stopped: {refused.message}",
            limit=LIMITS[ReasonCode.COST_EXCEEDED],
            allowed=self._budget,
            started=True,
        )
