"""Validation of a plan: all problems, each with its step and its place, before anything runs.

A problem is an error only if the plan cannot run to its end as it is; what depends on values that
are not known yet is a warning, and decided when the step runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from caps.agents.plans.asking import Questions
from caps.agents.plans.fitting import Comparison
from caps.agents.plans.inputs import (
    MAX_REFERENCES,
    Data,
    MalformedReferenceError,
    Reference,
    Template,
    joined,
    references_in,
    template_of,
)
from caps.agents.plans.plan import Plan, PlanStep
from caps.agents.plans.problems import MAX_PROBLEMS, PlanCode, PlanProblem, plan_invalid
from caps.agents.plans.schemas import Presence, Schema, names_in, pointed, schema_of
from caps.agents.plans.toolbox import Toolbox, UnknownToolError
from caps.capabilities.chain import PolicyChain
from caps.capabilities.grant import MILLION, Grant
from caps.capabilities.registry import CapabilityRegistry
from caps.protocol.text import did_you_mean, printable
from caps.security.decision import Decision
from caps.security.policies.flow_rules import NO_MARKS, given_labels, marks_of
from caps.security.policies.names import MAX_QUOTED
from caps.security.reasons import ReasonCode

_MAX_HINTS: Final = 64


class ReadyStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step that can run: the function behind its tool, and its inputs."""

    id: str
    function: str
    inputs: Template


class CheckedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan and all that was found. `steps` has those whose tool and inputs can be read."""

    plan: Plan
    steps: tuple[ReadyStep, ...]
    problems: tuple[PlanProblem, ...]
    cost: float
    """Of all steps, by the estimates of their tool cards."""

    @property
    def errors(self) -> tuple[PlanProblem, ...]:
        return tuple(each for each in self.problems if not each.warning)

    def require_valid(self) -> None:
        """Raise PlanInvalidError if the plan has errors."""
        if self.errors:
            raise plan_invalid(self.errors)


def validate(plan: Plan, registry: CapabilityRegistry, chain: PolicyChain) -> CheckedPlan:
    """`plan` under the policies of `chain`, with everything that is wrong with it."""
    return _Validation(plan, registry, chain).checked()


class _Validation:
    def __init__(self, plan: Plan, registry: CapabilityRegistry, chain: PolicyChain) -> None:
        self._plan = plan
        self._toolbox = Toolbox(registry)
        self._grant: Grant = registry.inject("caps", "plan", chain, budget=plan.budget)
        self._questions = Questions(self._grant)
        self._problems: list[tuple[int, PlanProblem]] = []
        self._places: dict[str, int] = {}
        self._templates: dict[int, Template] = {}
        self._references = 0
        self._outputs: dict[str, Schema] = {}
        self._certain = self._possible = NO_MARKS
        self._comparison = Comparison()
        self._hints_left = _MAX_HINTS
        self._millionths = 0
        self._exceeded = False

    def checked(self) -> CheckedPlan:
        self._read_steps()
        ready = [
            step
            for index, each in enumerate(self._plan.steps)
            if (step := self._check(index, each)) is not None
        ]
        by_step = sorted(self._problems, key=lambda each: each[0])
        return CheckedPlan(
            plan=self._plan,
            steps=tuple(ready),
            problems=tuple(problem for _, problem in by_step[:MAX_PROBLEMS]),
            cost=self._millionths / MILLION,
        )

    def _add(
        self, code: PlanCode, message: str, index: int, path: str = "", *, warning: bool = False
    ) -> None:
        problem = PlanProblem(
            code=code,
            message=message,
            path=path or f"steps[{index}]",
            step=self._plan.steps[index].id,
            warning=warning,
        )
        self._problems.append((index, problem))

    def _hint(self, text: str, known: Iterable[str]) -> str:
        """A search takes time, so there are not many."""
        self._hints_left -= 1
        return did_you_mean(printable(text, MAX_QUOTED), known) if self._hints_left >= 0 else ""

    # -- ids and references ---------------------------------------------------------------------

    def _read_steps(self) -> None:
        for index, step in enumerate(self._plan.steps):
            if step.id in self._places:
                first = f"steps[{self._places[step.id]}]"
                message = f"the id `{step.id}` is used before, by {first}"
                self._add(PlanCode.STEP_REPEATED, message, index, f"steps[{index}].id")
            self._places.setdefault(step.id, index)
            path = f"steps[{index}].inputs"
            try:
                template = template_of(step.inputs, path)
                self._references += sum(1 for _ in references_in(template))
                if self._references > MAX_REFERENCES:
                    what = f"a plan has at most {MAX_REFERENCES} references"
                    raise MalformedReferenceError(what, path)
                self._templates[index] = template
            except MalformedReferenceError as error:
                self._add(PlanCode.REFERENCE_MALFORMED, str(error), index, error.path)

    def _check_reference(self, index: int, reference: Reference) -> None:
        path, place = joined(reference.path, "$from"), self._places.get(reference.step)
        shown = printable(reference.step, MAX_QUOTED)
        if place is None:
            hint = self._hint(reference.step, self._places)
            message = f"there is no step `{shown}`{hint}"
            self._add(PlanCode.STEP_UNKNOWN, message, index, path)
        elif place >= index and self._reaches(place, index):
            self._add(PlanCode.STEP_CYCLE, f"it needs `{shown}`, which needs it", index, path)
        elif place >= index:
            self._add(PlanCode.STEP_LATER, f"`{shown}` runs later", index, path)
        elif reference.step in self._outputs:
            self._check_pointer(index, reference)

    def _reaches(self, start: int, goal: int) -> bool:
        """Whether the step `start` needs the output of `goal`, or of a step that does."""
        seen, left = set[int](), [start]
        while left:
            place = left.pop()
            if place == goal:
                return True
            if place not in seen and place in self._templates:
                seen.add(place)
                needed = (each.step for each in references_in(self._templates[place]))
                left += [self._places[step] for step in needed if step in self._places]
        return False

    def _check_pointer(self, index: int, reference: Reference) -> None:
        schema = self._outputs[reference.step]
        found = pointed(schema, reference.at)
        if found.doubted is None:
            return
        before, token = reference.at[: found.doubted], reference.at[found.doubted]
        certain = found.presence is Presence.IMPOSSIBLE
        known = names_in(pointed(schema, before).schema)
        hint = "" if token in known else self._hint(token, known)
        verb = "has no" if certain else "may have no"
        message = f"the output of `{reference.step}` {verb} `{printable(token, MAX_QUOTED)}`{hint}"
        path = joined(reference.path, "at")
        self._add(PlanCode.TYPE_MISMATCH, message, index, path, warning=not certain)

    # -- one step -------------------------------------------------------------------------------

    def _check(self, index: int, step: PlanStep) -> ReadyStep | None:
        template = self._templates.get(index)
        for reference in () if template is None else references_in(template):
            self._check_reference(index, reference)
        try:
            function = self._toolbox.function_of(step)
        except UnknownToolError as error:
            self._add(error.code, str(error), index, f"steps[{index}].{error.key}")
            return None
        self._check_granted(index, function)
        if template is not None:
            self._check_inputs(index, function, template)
        self._check_flow(index, function)
        self._check_limits(index, function)
        self._answer(function, template)
        if self._places[step.id] == index:
            self._outputs[step.id] = self._toolbox.gives(function)
        return (
            None if template is None else ReadyStep(id=step.id, function=function, inputs=template)
        )

    def _check_granted(self, index: int, function: str) -> None:
        decision = self._questions.granted(function)
        if decision.allowed:
            return
        if decision.reason is ReasonCode.APPROVAL_REQUIRED:
            code, message = PlanCode.APPROVAL_NEEDED, decision.message
            self._add(code, message, index, warning=True)
            return
        effects, code = self._toolbox.side_effects(function), PlanCode.NOT_GRANTED
        message = decision.message
        if effects:
            code = PlanCode.SIDE_EFFECT_FORBIDDEN
            message += f"; its side effects: {', '.join(effects)}"
        self._add(code, message, index)

    def _check_inputs(self, index: int, function: str, template: Template) -> None:
        path, references = f"steps[{index}].inputs", list(references_in(template))
        is_known = all(
            each.step in self._outputs and self._places[each.step] < index for each in references
        )
        source, target = schema_of(template, self._outputs), self._toolbox.takes(function)
        found = self._comparison.findings(source, target, path)
        for each in found:
            if not (each.certain or is_known):
                continue  # the reference itself is the problem
            flows = any(_is_within(each.path, reference.path) for reference in references)
            code = PlanCode.TYPE_MISMATCH if flows else PlanCode.INPUT_INVALID
            message = f"`{function}`: {each.why}"
            self._add(code, message, index, each.path, warning=not each.certain)
        if isinstance(template, Data) and not found:
            decision = self._questions.with_payload(function, template.value)
            if not decision.allowed:
                message = decision.detail or decision.message
                self._add(PlanCode.SCOPE_VIOLATED, message, index, path)

    def _check_flow(self, index: int, function: str) -> None:
        """A rule that applies after what was certainly answered breaks; else it may."""
        decision = self._questions.after(function, self._certain)
        if decision.reason is ReasonCode.FLOW_DENIED:
            self._add(PlanCode.FLOW_DENIED, decision.message, index)
            return
        for each in (decision, self._questions.after(function, self._possible)):
            if not each.allowed:
                self._add(_flow_code(each), each.message, index, warning=True)
                return

    def _check_limits(self, index: int, function: str) -> None:
        self._millionths += self._grant.costs.get(function, 0)
        cost = self._millionths / MILLION
        decision = self._questions.within_limits(function, index, cost)
        if decision.allowed or self._exceeded:
            return
        self._exceeded = True  # all further steps are over it, too
        if decision.reason is ReasonCode.COST_EXCEEDED:
            limit = self._grant.limits.cost
            message = f"the steps up to this one cost {cost:g}, over the budget of {limit:g}"
            self._add(PlanCode.BUDGET_EXCEEDED, message, index)
        else:
            self._add(PlanCode.LIMIT_EXCEEDED, decision.message, index)

    def _answer(self, function: str, template: Template | None) -> None:
        """Add the marks that the answer of this step has, or may have."""
        terms = self._grant.terms[function]
        certain = marks_of(function) | terms.labels
        possible = certain
        if isinstance(template, Data) and isinstance(template.value, Mapping):
            certain |= self._questions.with_payload(function, template.value).labels
            possible = certain
        elif terms.scope is not None:
            name = function.partition(".")[2]
            possible |= given_labels(terms.scope.possible_labels(name))
        self._certain |= certain
        self._possible |= possible


def _is_within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _flow_code(decision: Decision) -> PlanCode:
    if decision.reason is ReasonCode.APPROVAL_REQUIRED:
        return PlanCode.APPROVAL_NEEDED
    return PlanCode.FLOW_DENIED
