"""The dashboard and the alerts for operators name only metrics and labels that exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry

from caps.capabilities.telemetry import Metrics
from caps.capabilities.telemetry.counters import Counter, Gauge, Histogram
from support.promql_metrics import TARGET_LABELS, metrics_used_in

OPS = Path(__file__).parent.parent.parent / "ops"
DASHBOARD = json.loads((OPS / "grafana-dashboard.json").read_text())
ALERTS = yaml.safe_load((OPS / "alerts.yml").read_text())
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]


def series() -> dict[str, frozenset[str]]:
    """The labels of every series that the metrics can give, by its name in Prometheus."""
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    found: dict[str, frozenset[str]] = {}
    for metric in vars(metrics).values():
        match metric:
            case Counter(labels=labels):
                metric.add(("x",) * len(labels))
            case Gauge(labels=labels):
                metric.set(("x",) * len(labels), 1)
            case Histogram(labels=labels):
                metric.observe(("x",) * len(labels), 1.0)
    for family in registry.collect():
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, frozenset()) | frozenset(sample.labels)
    return found


SERIES = series()


def problems(expression: str) -> list[str]:
    """What is wrong with the names in an expression."""
    found = []
    for named in metrics_used_in(expression):
        known = SERIES.get(named.metric)
        if known is None:
            found.append(f"no metric `{named.metric}`")
        elif unknown := named.labels - known - TARGET_LABELS:
            found.append(f"`{named.metric}` has no label {sorted(unknown)}")
    return found


def panels() -> Iterator[dict[str, Any]]:
    for panel in DASHBOARD["panels"]:
        yield panel
        yield from panel.get("panels", [])


def queries() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel.get("targets", [])]


class TestReading:
    def test_metrics_and_labels_are_found_wherever_they_stand(self) -> None:
        """In selectors, ranges, groupings and matchings."""
        expression = 'sum by (kind) (rate(a_total{x="1"}[5m])) / on (kind) group_left b > 2'
        found = {(named.metric, named.labels) for named in metrics_used_in(expression)}
        assert found == {
            ("a_total", frozenset({"x", "kind"})),
            ("b", frozenset({"kind"})),
        }

    @pytest.mark.parametrize(
        "expression",
        [
            "caps_made_up_total",
            "sum by (execution_id) (caps_executions_total)",
            'caps_executions_total{outcome="ok"}',
            "rate(caps_executions[5m])",
            "histogram_quantile(0.9, sum by (le) (rate(caps_executions_total[5m])))",
        ],
    )
    def test_a_name_that_does_not_exist_is_a_problem(self, expression: str) -> None:
        """So the tests below can fail."""
        assert problems(expression) != []

    @pytest.mark.parametrize(
        "expression",
        [
            "sum by caps_executions_total",
            "sum by (status) (sum(caps_executions_total))",
            '{job="caps"}',
        ],
    )
    def test_what_makes_no_sense_is_refused(self, expression: str) -> None:
        """An expression is parsed whole, and not searched for names."""
        with pytest.raises(ValueError):
            metrics_used_in(expression)


class TestAlerts:
    def test_the_file_is_made_of_groups_of_rules(self) -> None:
        """Only fields that Prometheus knows, and no name twice."""
        assert set(ALERTS) == {"groups"}
        for group in ALERTS["groups"]:
            assert set(group) == {"name", "rules"}
        names = [group["name"] for group in ALERTS["groups"]]
        alerts = [rule["alert"] for rule in RULES]
        assert len(set(names)) == len(names)
        assert len(set(alerts)) == len(alerts)

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
    def test_each_rule_says_how_bad_it_is_and_what_to_do(self, rule: dict[str, Any]) -> None:
        """With a severity, a summary and a description."""
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description"}
        promql_parser.parse_duration(rule.get("for", "1m"))

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
    def test_each_rule_looks_at_what_exists(self, rule: dict[str, Any]) -> None:
        """Its metrics and its labels, those in the text of the alert included."""
        assert problems(rule["expr"]) == []
        listed = {label for named in metrics_used_in(rule["expr"]) for label in named.labels}
        for text in rule["annotations"].values():
            for part in text.split("$labels.")[1:]:
                assert part.split()[0].rstrip("})") in listed


class TestDashboard:
    def test_it_can_be_imported_into_any_grafana(self) -> None:
        """The data source is a variable, and every panel has its own place."""
        variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
        assert "datasource" in variables
        identifiers = [panel["id"] for panel in panels()]
        assert len(set(identifiers)) == len(identifiers)
        for panel in panels():
            if panel["type"] != "row":
                assert panel["datasource"]["uid"] == "${datasource}"
                assert panel["targets"]

    def test_panels_do_not_cover_each_other(self) -> None:
        """Within the 24 columns of the grid."""
        taken: set[tuple[int, int]] = set()
        for panel in panels():
            place = panel["gridPos"]
            cells = {
                (column, line)
                for column in range(place["x"], place["x"] + place["w"])
                for line in range(place["y"], place["y"] + place["h"])
            }
            assert not cells & taken
            assert max(column for column, _ in cells) < 24
            taken |= cells

    @pytest.mark.parametrize("expression", queries())
    def test_each_panel_looks_at_what_exists(self, expression: str) -> None:
        """Its metrics and its labels."""
        assert problems(expression) == []

    def test_its_variables_look_at_what_exists(self) -> None:
        """They list values of a label: `label_values(selector, label)`."""
        for variable in DASHBOARD["templating"]["list"]:
            if variable["type"] == "query":
                inner = variable["definition"].removeprefix("label_values(").removesuffix(")")
                selector, _, label = inner.rpartition(", ")
                (named,) = metrics_used_in(selector)
                assert problems(selector) == []
                assert label in SERIES[named.metric] | TARGET_LABELS

    def test_every_metric_is_somewhere_on_it(self) -> None:
        """Everything that is counted is shown, except what another panel covers."""
        shown = {named.metric for query in queries() for named in metrics_used_in(query)}
        families = {name.removesuffix("_bucket") for name in shown}
        counted = {
            name for name in SERIES if not name.endswith(("_bucket", "_count", "_sum", "_created"))
        } | {name.removesuffix("_bucket") for name in SERIES if name.endswith("_bucket")}
        assert counted - families == {"caps_build_info", "caps_zygote_starts_total"}
