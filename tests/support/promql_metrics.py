"""The metrics that a PromQL expression uses, and the labels that it expects of each.

Strict on purpose: an expression with an unknown node is refused. A label that an aggregation or a
match names is expected of every metric below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import promql_parser as promql

# Labels that Prometheus itself adds to every sample that it scrapes.
TARGET_LABELS = frozenset({"job", "instance"})


@dataclass(frozen=True)
class MetricUse:
    """One metric as an expression uses it."""

    metric: str
    labels: frozenset[str]


def metrics_used_in(expression: str) -> list[MetricUse]:
    """Every use of a metric in `expression`, written for Prometheus or for Grafana."""
    parsed = promql.parse(expression.replace("$__rate_interval", "5m"))
    return list(_names(parsed, frozenset()))


def _names(node: promql.Expr, wanted: frozenset[str]) -> Iterator[MetricUse]:
    match node:
        case promql.VectorSelector():
            yield _selected(node, wanted)
        case promql.MatrixSelector():
            yield _selected(node.vector_selector, wanted)
        case promql.AggregateExpr():
            listed = frozenset(node.modifier.labels if node.modifier else ())
            if wanted - listed:
                raise ValueError(f"{sorted(wanted - listed)} are gone after: {node}")
            yield from _names(node.expr, listed)
        case promql.BinaryExpr():
            matching = node.modifier.matching if node.modifier else None
            more = wanted | frozenset(matching.labels if matching else ())
            yield from _names(node.lhs, more)
            yield from _names(node.rhs, more)
        case promql.Call():
            for argument in node.args:
                yield from _names(argument, wanted)
        case promql.ParenExpr() | promql.UnaryExpr():
            yield from _names(node.expr, wanted)
        case promql.NumberLiteral() | promql.StringLiteral():
            return
        case _:
            raise TypeError(f"not read here: {node}")


def _selected(selector: promql.VectorSelector, wanted: frozenset[str]) -> MetricUse:
    if not selector.name:
        raise ValueError(f"a selector without a name: {selector}")
    matched = {matcher.name for matcher in selector.matchers.matchers}
    return MetricUse(selector.name, frozenset(matched) | wanted)
