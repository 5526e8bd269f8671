"""Sinks as an operator uses them: options, variables, metrics, the table of the log."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from caps import AuditError, AuditSettings, ConfigurationError, Metrics, Rotation, Runtime
from caps.security.audit import VerifyStatus, verify_log
from support.receivers import LineReceiver

CAPS = [sys.executable, "-c", "from caps.cli.main import main; main()"]


def caps(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command, with nothing of the environment but what is given."""
    return subprocess.run(
        [*CAPS, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", **variables},
    )


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text("1 + 1")
    return path


def test_sinks_by_option_and_by_variable_are_both_fed(tmp_path: Path, code: Path) -> None:
    """Each has the whole log, which is rotated and compressed as the variables say."""
    done = caps(
        "run",
        code,
        "--audit",
        tmp_path / "log",
        "--audit-sink",
        f"file://{tmp_path}/one?deadline_ms=20000",
        CAPS_AUDIT_SINKS=f"file://{tmp_path}/two?mode=best_effort&deadline_ms=20000",
        CAPS_AUDIT_CHECKPOINTS_TO=str(tmp_path / "elsewhere"),
        CAPS_AUDIT_DURABILITY="os",
    )
    assert (done.returncode, done.stdout) == (0, "=> 2\n")
    reports = [verify_log(tmp_path / name) for name in ("log", "one", "two")]
    assert {report.status for report in reports} == {VerifyStatus.OK}
    assert len({report.head_hash for report in reports}) == 1
    kept = verify_log(tmp_path / "log", kept_checkpoints=tmp_path / "elsewhere")
    assert kept.status is VerifyStatus.OK


@pytest.mark.parametrize(
    ("url", "code_and_message"),
    [
        ("syslog+tcp://host?mod=required", (2, "has no option `mod`")),
        ("postgresql://u:hunter2@127.0.0.1:1/db?deadline_ms=900", (6, "is down")),
    ],
)
def test_a_bad_sink_is_reported_in_one_line(
    url: str, code_and_message: tuple[int, str], tmp_path: Path, code: Path
) -> None:
    """With the exit code of its kind, and without its password."""
    done = caps("run", code, "--audit", tmp_path / "log", "--audit-sink", url)
    assert done.returncode == code_and_message[0]
    (line,) = done.stderr.splitlines()
    assert line.startswith("caps: audit sink `")
    assert code_and_message[1] in line
    assert "hunter2" not in done.stderr


def test_what_sinks_do_is_counted(tmp_path: Path) -> None:
    """Up or not for each; dropped records for those that may drop."""
    receiver = LineReceiver()
    url = f"syslog+tcp://127.0.0.1:{receiver.port}"
    registry = CollectorRegistry()
    settings = AuditSettings(directory=tmp_path / "log", rotation=Rotation(bytes=4096))
    kept = settings.with_sinks(
        [f"{url}?deadline_ms=20000", "otlp+http://127.0.0.1:1?mode=best_effort&deadline_ms=500"]
    )
    with Runtime({}, audit=kept, metrics=Metrics(registry)) as runtime:
        assert runtime.run_sync("1").ok
        assert registry.get_sample_value("caps_audit_sink_up", {"sink": url}) == 1
    dropped = registry.get_sample_value(
        "caps_audit_sink_dropped_records_total", {"sink": "otlp+http://127.0.0.1:1"}
    )
    assert dropped
    receiver.stop()
    with pytest.raises(AuditError, match="is down"), Runtime({}, audit=kept):
        pass


def test_the_table_tells_of_files_keys_and_sinks(tmp_path: Path, code: Path) -> None:
    """`caps audit show` has a line for each kind of record that the log makes of itself."""
    log = tmp_path / "log"
    for _ in range(4):
        caps("run", code, "--audit", log, CAPS_AUDIT_ROTATE_BYTES="4096")
    gone = "syslog+udp://127.0.0.1:1?mode=best_effort"
    caps("run", code, "--audit", log, "--audit-sink", gone)
    assert caps("audit", "rotate-key", "--audit", log).returncode == 0
    shown = caps("audit", "show", "--audit", log, COLUMNS="300").stdout
    assert "signs instead of" in shown
    assert "continues `audit-000001.jsonl` after record" in shown
    listed = [
        json.loads(line)
        for line in caps("audit", "show", "--json", "--audit", log).stdout.splitlines()
    ]
    assert {"segment_closed", "segment_opened", "key_rotated"} <= {r["kind"] for r in listed}
    assert caps("audit", "verify", "--audit", log).returncode == 0


def test_records_and_a_result_for_programs_do_not_share_standard_output(code: Path) -> None:
    """`--json` promises one object there."""
    done = caps("run", code, "--json", "--audit-sink", "stdout:")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "caps: `--json` and the sink `stdout:` exclude each other\n"


def test_settings_take_texts(tmp_path: Path) -> None:
    """Paths and URLs, as a program would write them."""
    settings = AuditSettings(
        directory=str(tmp_path / "log"),  # type: ignore[arg-type]
        checkpoints_to=str(tmp_path / "elsewhere"),  # type: ignore[arg-type]
        sinks=(f"file://{tmp_path}/copy?deadline_ms=20000",),  # type: ignore[arg-type]
    )
    with Runtime(audit=settings) as runtime:
        assert runtime.run_sync("1 + 1").unwrap() == 2
    assert verify_log(tmp_path / "copy").status is VerifyStatus.OK
    with pytest.raises(ConfigurationError):
        AuditSettings(directory=tmp_path, sinks=("nowhere",))  # type: ignore[arg-type]
