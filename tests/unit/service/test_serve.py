"""The socket that is served."""

from __future__ import annotations

import socket

import pytest

from caps.protocol.errors import ConfigurationError
from caps.service.serve import ServeSettings, listening


def test_answers_are_sent_at_once() -> None:
    """Connections do not wait for acknowledgements, which takes 40 ms for each answer."""
    with (
        listening(ServeSettings(port=0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_a_port_that_is_taken_is_told() -> None:
    """Before anything else is opened."""
    with listening(ServeSettings(port=0)) as listener:
        taken = ServeSettings(port=listener.getsockname()[1])
        with pytest.raises(ConfigurationError, match="cannot serve on"), listening(taken):
            pass
