"""`--metrics-port`, and export by the OTEL_ variables, with the installed command."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

from caps.capabilities.telemetry import otlp_export
from caps.capabilities.telemetry.otlp_export import Exporter, exporter_for, exporting
from caps.protocol.errors import ConfigurationError
from support.otlp_collector import Collector, collecting, plain
from support.receivers import SilentReceiver

SCRIPT = Path(sys.executable).with_name("caps")
ADDING = "await caps.math.add(a=1, b=2)"
SHOWN = "=> {'result': 3}\n"
WAITING = "import asyncio\nprint('up')\nawait asyncio.sleep(600)\n"
LOOPBACK_ONLY = {"NO_PROXY": "*", "no_proxy": "*"}
TRACEPARENT = f"00-{'a' * 32}-{'b' * 16}-01"


class Place:
    """A directory with a policy and an audit log, and the command there."""

    def __init__(self, directory: Path) -> None:
        self.policy = directory / "policy.json"
        self.policy.write_text(json.dumps({"id": "adder", "allow": ["math.*"]}))
        self.audit = directory / "audit"

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        kept = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("OTEL_", "CAPS_", "TRACEPARENT"))
        }
        return {**kept, **LOOPBACK_ONLY, "CAPS_AUDIT_PATH": str(self.audit), **variables}

    def _command(self, args: tuple[str, ...]) -> list[str]:
        return [str(SCRIPT), *args, "--policy", str(self.policy)]

    def caps(
        self, *args: str, stdin: str = ADDING, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(args),
            input=stdin,
            env=self._environment(variables),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @contextmanager
    def running(self, *args: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
        """The command, and what to write to it; it is terminated at the end."""
        with subprocess.Popen(
            self._command(args),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment({}),
            text=True,
        ) as process:
            assert process.stdin is not None
            try:
                yield process, process.stdin
            finally:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def scraped(process: subprocess.Popen[str]) -> str:
    """The page at the URL that the command announced."""
    assert process.stderr is not None
    announced = process.stderr.readline()
    assert announced.startswith("caps: metrics at http://127.0.0.1:")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(announced.split()[-1], timeout=30) as page:
        text: str = page.read().decode()
    return text


class TestMetricsPort:
    def test_metrics_can_be_scraped_while_the_code_runs(self, place: Place) -> None:
        """Port 0 is any free port, which is printed on standard error."""
        with place.running("run", "-", "--metrics-port", "0") as (process, stdin):
            stdin.write(WAITING)
            stdin.close()
            process.stdin = None
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            page = scraped(process)
        assert "caps_executions_in_flight 1.0" in page
        assert 'capability_injected_total{capability="math.add"} 1.0' in page
        assert 'caps_isolation_layers{enforcement="fully",layer="language"} 1.0' in page
        assert process.returncode == 143

    def test_a_session_is_counted_cell_by_cell(self, place: Place) -> None:
        """`caps repl` has the same options."""
        with place.running("repl", "--metrics-port", "0") as (process, stdin):
            stdin.write(f"{ADDING}\n\nprint('up')\n\n")
            stdin.flush()
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(2)] == [SHOWN, "up\n"]
            page = scraped(process)
        labels = 'capability="math.add",decision="allow",reason_code="allowed",status="ok"'
        assert f"caps_capability_requests_total{{{labels}}} 1.0" in page
        assert "caps_workers_alive 0.0" not in page

    def test_a_port_in_use_ends_the_command_in_one_line(self, place: Place) -> None:
        """Before anything runs."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = place.caps("run", "-", "--metrics-port", str(taken.getsockname()[1]))
        assert done.returncode == 2
        assert done.stderr.startswith("caps: metrics cannot be served at `127.0.0.1`")
        assert done.stderr.count("\n") == 1
        assert not place.audit.exists()

    def test_an_address_that_is_none_ends_the_command_in_one_line(self, place: Place) -> None:
        """Host names are not resolved."""
        done = place.caps("run", "-", "--metrics-port", "0", "--metrics-address", "example")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)

    def test_without_the_option_nothing_is_served(self, place: Place) -> None:
        """And nothing is said."""
        assert place.caps("run", "-").stderr == ""


class TestExport:
    def test_spans_and_durations_arrive_at_the_endpoint(self, place: Place) -> None:
        """As protobuf over HTTP, from the service that the variable names."""
        with collecting() as collector:
            done = place.caps(
                "run",
                "-",
                OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
                OTEL_EXPORTER_OTLP_HEADERS="x-team=blue",
                OTEL_SERVICE_NAME="adder",
            )
        assert (done.returncode, done.stdout, done.stderr) == (0, SHOWN, "")
        execution, call = collector.span("execution"), collector.span("execute_tool math.add")
        assert call.parent_span_id == execution.span_id
        assert call.trace_id == execution.trace_id
        assert plain(call.attributes)["gen_ai.operation.name"] == "execute_tool"
        assert collector.services == {"adder"}
        assert all(headers["x-team"] == "blue" for headers in collector.headers)
        (metric,) = (m for m in collector.metrics if m.name == "gen_ai.execute_tool.duration")
        assert [point.count for point in metric.histogram.data_points] == [1]

    def test_the_service_is_caps_if_nobody_names_it(self, place: Place) -> None:
        """For a session, too."""
        with collecting() as collector:
            done = place.caps("repl", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
        assert done.returncode == 0
        assert collector.services == {"caps"}
        assert collector.span("execute_tool math.add").parent_span_id

    def test_the_trace_that_the_command_is_started_in_goes_on(self, place: Place) -> None:
        """As TRACEPARENT says."""
        with collecting() as collector:
            place.caps(
                "run", "-", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, TRACEPARENT=TRACEPARENT
            )
        execution = collector.span("execution")
        assert execution.trace_id.hex() == "a" * 32
        assert execution.parent_span_id.hex() == "b" * 16

    @pytest.mark.parametrize(
        ("variables", "spans", "metrics"),
        [
            ({"OTEL_SDK_DISABLED": "true"}, False, False),
            ({"OTEL_TRACES_EXPORTER": "none"}, False, True),
            ({"OTEL_METRICS_EXPORTER": "none"}, True, False),
        ],
    )
    def test_what_is_turned_off_is_not_exported(
        self, place: Place, variables: dict[str, str], spans: bool, metrics: bool
    ) -> None:
        """One signal, or all."""
        with collecting() as collector:
            done = place.caps("run", "-", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **variables)
        assert done.returncode == 0
        assert (bool(collector.spans), bool(collector.metrics)) == (spans, metrics)

    def test_a_collector_that_is_away_is_reported_in_one_line(self, place: Place) -> None:
        """The run is not the worse for it."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        done = place.caps(
            "run",
            "-",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}",
            OTEL_EXPORTER_OTLP_TIMEOUT="1",
        )
        assert (done.returncode, done.stdout) == (0, SHOWN)
        assert done.stderr.startswith("caps: warning: telemetry was not exported: ")
        assert done.stderr.count("\n") == 1

    def test_a_collector_that_never_answers_is_reported_in_one_line(self, place: Place) -> None:
        """The command ends anyway."""
        receiver = SilentReceiver()
        done = place.caps(
            "run", "-", OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{receiver.port}"
        )
        receiver.close()
        assert (done.returncode, done.stdout) == (0, SHOWN)
        assert done.stderr == (
            "caps: warning: telemetry was not exported: "
            "the collector did not answer within 5 seconds\n"
        )

    @pytest.mark.parametrize(
        "variables",
        [
            {"OTEL_TRACES_EXPORTER": "zipkin"},
            {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        ],
    )
    def test_what_is_not_there_ends_the_command_in_one_line(
        self, place: Place, variables: dict[str, str]
    ) -> None:
        """With the variable, and its allowed values."""
        done = place.caps("run", "-", **variables)
        assert done.returncode == 2
        assert done.stderr.startswith("caps: OTEL_")
        assert done.stderr.count("\n") == 1

    @pytest.mark.parametrize(
        ("options", "unwanted"),
        [
            ([], ["opentelemetry", "prometheus_client", "http.server", "requests", "google"]),
            (["--metrics-port", "0"], ["opentelemetry", "requests", "google"]),
        ],
        ids=["unwatched", "scraped"],
    )
    def test_what_nobody_asked_for_is_not_loaded(
        self, place: Place, options: list[str], unwanted: list[str]
    ) -> None:
        """Without variables nothing of OpenTelemetry, without a port nothing of Prometheus."""
        code = (
            "import sys\n"
            "from caps.cli.main import main\n"
            f"args = ['run', '-', *{options}, '--policy', {str(place.policy)!r}]\n"
            "try:\n"
            "    main(args)\n"
            "except SystemExit as left:\n"
            f"    print([m for m in sys.modules if m.startswith({tuple(unwanted)})], left.code)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=ADDING,
            env=place._environment({}),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert done.stdout == SHOWN + "[] 0\n"

    def test_who_loads_opentelemetry_later_is_traced_from_then_on(self, place: Place) -> None:
        """It is searched for at each execution, not when the runtime is created."""
        code = (
            "import sys\n"
            "from caps import MemoryAuditLog, Runtime\n"
            "with Runtime({}, audit=MemoryAuditLog()) as runtime:\n"
            "    runtime.run_sync('1').unwrap()\n"
            "    print('opentelemetry' in sys.modules)\n"
            "    from opentelemetry import trace\n"
            "    from opentelemetry.sdk.trace import TracerProvider\n"
            "    from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
            "    from opentelemetry.sdk.trace.export.in_memory_span_exporter import (\n"
            "        InMemorySpanExporter)\n"
            "    kept, provider = InMemorySpanExporter(), TracerProvider()\n"
            "    provider.add_span_processor(SimpleSpanProcessor(kept))\n"
            "    trace.set_tracer_provider(provider)\n"
            "    runtime.run_sync('2').unwrap()\n"
            "    print([span.name for span in kept.get_finished_spans()])\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=place._environment({}),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert done.stdout == "False\n['execution']\n"

    def test_what_goes_to_the_console_leaves_standard_output_to_the_code(
        self, place: Place
    ) -> None:
        """One object for a program to read, and the span on standard error."""
        done = place.caps("run", "-", "--json", OTEL_TRACES_EXPORTER="console")
        assert json.loads(done.stdout)["value"] == {"result": 3}
        assert '"name": "execute_tool math.add"' in done.stderr


class TestVariables:
    @pytest.mark.parametrize(
        ("environ", "traces", "metrics"),
        [
            ({}, "none", "none"),
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, "none", "none"),
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, "otlp", "otlp"),
            ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, "otlp", "none"),
            ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://x"}, "none", "otlp"),
            ({"OTEL_TRACES_EXPORTER": " OTLP "}, "otlp", "none"),
            ({"OTEL_TRACES_EXPORTER": "console"}, "console", "none"),
            ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "TRUE"}, "none", "none"),
            (
                {
                    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x",
                    "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
                    "OTEL_METRICS_EXPORTER": "none",
                },
                "otlp",
                "none",
            ),
        ],
    )
    def test_each_signal_goes_where_they_say(
        self, environ: dict[str, str], traces: str, metrics: str
    ) -> None:
        """The signal's own variable before the general one."""
        assert exporter_for("TRACES", environ) is Exporter(traces)
        assert exporter_for("METRICS", environ) is Exporter(metrics)

    def test_a_list_of_exporters_is_refused(self) -> None:
        """One signal goes to one place."""
        with pytest.raises(ConfigurationError, match="`otlp,console`"):
            exporter_for("TRACES", {"OTEL_TRACES_EXPORTER": "otlp,console"})


class TestProviders:
    def test_without_the_extra_the_error_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Only who asks for an export needs it."""
        module = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
        monkeypatch.setitem(sys.modules, module, None)
        with (
            pytest.raises(ConfigurationError, match=r"install `caps-runtime\[otlp\]`"),
            exporting({"OTEL_TRACES_EXPORTER": "otlp"}),
        ):
            pass

    def test_the_last_export_of_all_signals_is_bounded_once(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Two signals that hang do not take twice as long; there is one warning."""
        monkeypatch.setattr(otlp_export, "_LAST_EXPORT_SECONDS", 1.0)
        held = threading.Event()

        class Hanging(TracerProvider):
            def shutdown(self) -> None:
                assert held.wait(60)

        class HangingMeters(MeterProvider):
            def shutdown(self, timeout_millis: float = 0, **_: object) -> None:
                assert held.wait(60)

        monkeypatch.setattr(
            otlp_export, "_tracer_provider", lambda _: Hanging(shutdown_on_exit=False)
        )
        monkeypatch.setattr(
            otlp_export, "_meter_provider", lambda _: HangingMeters(shutdown_on_exit=False)
        )
        for setter in ("trace.set_tracer_provider", "metrics.set_meter_provider"):
            monkeypatch.setattr(f"opentelemetry.{setter}", lambda _: None)
        with exporting({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}):
            since = time.monotonic()
        passed = time.monotonic() - since
        held.set()
        assert 1.0 <= passed < 2.0
        assert caplog.messages == ["the collector did not answer within 1 seconds"]

    def test_a_provider_that_was_set_before_is_respected(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No other takes its place, whatever the variables say."""
        theirs = TracerProvider(shutdown_on_exit=False)
        monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", theirs)
        with exporting({"OTEL_TRACES_EXPORTER": "otlp"}) as providers:
            assert providers.tracer is None
            assert trace.get_tracer_provider() is theirs

    def test_a_variable_that_the_sdk_cannot_read_is_reported_in_one_line(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is one of our messages, not a traceback."""
        monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
        with (
            pytest.raises(
                ConfigurationError, match="the OTEL_ variables cannot be used"
            ) as refused,
            exporting({"OTEL_TRACES_EXPORTER": "otlp"}),
        ):
            pass
        assert "\n" not in refused.value.message


def test_the_collector_refuses_what_is_no_otlp() -> None:
    """So the tests above mean something."""
    with pytest.raises(Exception, match="parsing"):
        Collector("").take("/v1/traces", b"\xff\xff no protobuf")
