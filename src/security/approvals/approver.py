"""The approver that most runtimes have: a person, who answers through a directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio

from caps.protocol.errors import ConfigurationError
from caps.security.approvals.directory import ApprovalDirectory, default_approvals_directory
from caps.security.approvals.model import ApprovalAnswer, ApprovalRequest

_POLL_SECONDS = 0.2


class DirectoryApprover:
    """Asks through a directory, which `caps approvals` answers from another process."""

    def __init__(
        self,
        directory: Path | None = None,
        *,
        announce: Callable[[ApprovalRequest], None] | None = None,
    ) -> None:
        """The default directory is CAPS_APPROVALS_PATH at the time when a call begins to wait.

        `announce` is called with each request that begins to wait.
        """
        self._directory = directory
        self._announce = announce

    @property
    def directory(self) -> Path:
        """The directory for requests and answers."""
        return self._directory or default_approvals_directory()

    async def __call__(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Post the request and wait for its answer. ConfigurationError if the directory fails."""
        directory = self.directory
        with ApprovalDirectory.open(directory, make=True) as store:
            try:
                with store.posted(request):
                    if self._announce is not None:
                        self._announce(request)
                    # Another process writes the answer; there is no event to wait for.
                    while (answer := store.answer_to(request.id)) is None:  # noqa: ASYNC110
                        await anyio.sleep(_POLL_SECONDS)
                    return answer
            except OSError as error:
                raise ConfigurationError(
                    f"approvals directory `{directory}` cannot be used: {error.strerror}"
                ) from error
