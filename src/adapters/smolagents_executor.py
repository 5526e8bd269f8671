"""Caps as the Python executor of smolagents. Needs the extra `smolagents`.

    registry = builtin_registry()
    host = HostFunctions(registry)
    with Runtime({"allow": ["host.call"]}, registry=registry) as runtime:
        with CapsExecutor(runtime, host) as executor:
            CodeAgent(tools=[...], model=model, executor=executor).run("...")

The tools of the agent stay in its process, and code calls them without `await`, through the broker.
A version of smolagents that finds executors by entry points finds this one as `caps`.
"""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Self

from smolagents.local_python_executor import CodeOutput, InterpreterError, PythonExecutor

from caps.adapters.host_functions import HostFunctions
from caps.capabilities.registry import CapabilityRegistry, PoliciesGiven
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.runtime.runtime import Runtime
from caps.capabilities.runtime.sync import SyncSession
from caps.security.policies.load import Policies

FINAL_ANSWER: Final = "final_answer"
_FINAL_TYPE: Final = "FinalAnswer"
_TOOLS_ONLY: Final = {"id": "smolagents", "allow": ["host.call"]}
_DEFINITIONS: Final = """\
class FinalAnswer(BaseException):
    given = None

def final_answer(answer=None):
    FinalAnswer.given = answer
    raise FinalAnswer()
"""


class CapsExecutor(PythonExecutor):  # type: ignore[misc]  # smolagents has no types
    """One session of the runtime; variables are kept from step to step."""

    def __init__(
        self,
        runtime: Runtime,
        host: HostFunctions,
        *,
        principal: str = "anonymous",
        policy: PoliciesGiven | None = None,
    ) -> None:
        """The runtime is open, by `with`. Opens the session, which `cleanup` closes."""
        self.state: dict[str, Any] = {}
        """The output of the last code as `_print_outputs`: smolagents reads it after an error."""
        self._host = host
        self._variables: dict[str, Any] = {}
        self._final_tool: Any = None
        self._open = ExitStack()
        self._offer = ExitStack()
        session = runtime.session_sync(principal=principal, policy=policy)
        self._session: SyncSession = self._open.enter_context(session)
        self._open.push(self._offer)
        self._define(_DEFINITIONS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cleanup()

    def cleanup(self) -> None:
        """Close the session. `CodeAgent` calls it when it is left."""
        self._open.close()

    def send_tools(self, tools: dict[str, Any]) -> None:
        """Offer the tools of the agent. `final_answer` ends the run and is not called by code."""
        functions = {name: tool for name, tool in tools.items() if name != FINAL_ANSWER}
        self._final_tool = tools.get(FINAL_ANSWER)
        self._offer.close()
        self._offer.enter_context(self._host.offered(self._session.id, functions))
        if functions:
            self._define(self._host.definitions(functions, awaited=False))

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Give them to the next code. They are values that a sandbox can take."""
        self._variables.update(variables)

    def __call__(self, code_action: str) -> CodeOutput:
        """Run the code. Raises InterpreterError with the text for the model if it fails."""
        given, self._variables = self._variables, {}
        result = self._session.run(code_action, inputs=given or None)
        self.state["_print_outputs"] = result.stdout
        if result.error is None:
            return CodeOutput(output=result.value, logs=result.stdout, is_final_answer=False)
        if result.error.type != _FINAL_TYPE:
            raise InterpreterError(result.for_model())
        return CodeOutput(output=self._final(), logs=result.stdout, is_final_answer=True)

    def _final(self) -> Any:
        value = self._define("FinalAnswer.given").value
        return value if self._final_tool is None else self._final_tool(value)

    def _define(self, source: str) -> ExecutionResult:
        result = self._session.run(source)
        result.unwrap()
        return result


class _OwnRuntimeExecutor(CapsExecutor):
    """An executor whose runtime is closed with it."""

    def __init__(self, policy: Policies | None, principal: str) -> None:
        registry = CapabilityRegistry()
        host = HostFunctions(registry)
        given = _TOOLS_ONLY if policy is None else policy
        with ExitStack() as stack:
            runtime = stack.enter_context(Runtime(given, registry=registry))
            super().__init__(runtime, host, principal=principal)
            self._runtime = stack.pop_all()

    def cleanup(self) -> None:
        super().cleanup()
        self._runtime.close()


def make_executor(
    additional_authorized_imports: list[str] | None = None,  # noqa: ARG001
    logger: Any = None,  # noqa: ARG001 - an executor gets one, and this one does not log
    *,
    policy: Policies | None = None,
    principal: str = "anonymous",
) -> CapsExecutor:
    """For `CodeAgent(executor_type="caps", executor_kwargs={"policy": "policy.json"})`.

    By default code may call the tools of the agent, and nothing else. What it may import, the
    policy says, and not `additional_authorized_imports`.
    """
    return _OwnRuntimeExecutor(policy, principal)
