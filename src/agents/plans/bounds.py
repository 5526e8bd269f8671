"""The bounds of values: lengths, counts and ranges of one schema against those of another."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from caps.agents.plans.schemas import Schema

_LOW: Final = ("minimum", "exclusiveMinimum")
_HIGH: Final = ("maximum", "exclusiveMaximum")


class Finding(msgspec.Struct, frozen=True):
    """Why values do not fit, or may not, and where in them."""

    path: str
    why: str
    certain: bool


Findings = list[Finding]


def within(
    source: Schema, target: Schema, low: str, high: str, path: str, lowest: int | None
) -> Findings:
    """The bounds of `source` against those of `target`."""
    found: Findings = []
    least, most = source.fields.get(low, lowest), source.fields.get(high)
    if (bound := target.fields.get(low)) is not None and (least is None or least < bound):
        found.append(
            Finding(path, f"should have `{low}` {bound}", most is not None and most < bound)
        )
    if (bound := target.fields.get(high)) is not None and (most is None or most > bound):
        certain = least is not None and least > bound
        found.append(Finding(path, f"should have `{high}` {bound}", certain))
    return found


def counted(source: Schema, target: Schema, path: str, others: Schema) -> Findings:
    """The number of properties; `others` are those of `source` that it does not declare."""
    if not {"minProperties", "maxProperties"} & target.fields.keys():
        return []
    least = max(source.fields.get("minProperties", 0), len(set(source.fields.get("required", ()))))
    counts: dict[str, Any] = {"minProperties": least}
    most = [source.fields[key] for key in ("maxProperties",) if key in source.fields]
    if others.is_never and not source.fields.get("patternProperties"):
        most.append(len(source.fields.get("properties", {})))
    if most:
        counts["maxProperties"] = min(most)
    return within(Schema(counts), target, "minProperties", "maxProperties", path, 0)


def same(source: Schema, target: Schema, key: str, path: str) -> Findings:
    """A keyword that is compared only with itself."""
    if key not in target.fields or source.fields.get(key) == target.fields[key]:
        return []
    return [Finding(path, f"`{key}` is checked when it runs", False)]


def numbers(source: Schema, target: Schema, path: str) -> Findings:
    """The ranges of numbers, and what they are multiples of."""
    found = _side(source, target, 1, path) + _side(source, target, -1, path)
    if target.fields.get("multipleOf") == 1 and source.types == ("integer",):
        return found
    return found + same(source, target, "multipleOf", path)


def _side(source: Schema, target: Schema, sign: int, path: str) -> Findings:
    """The lower side of a range (`sign` 1) or the upper one (-1).

    Bounds are distances in the direction of the side, so that one comparison serves both.
    """
    names, opposite = (_LOW, _HIGH) if sign == 1 else (_HIGH, _LOW)
    wanted, own = _edge(target, names, sign), _edge(source, names, sign)
    if wanted is None or (own is not None and own >= wanted):
        return []
    far = _edge(source, opposite, -sign)
    misses = far is not None and -far[0] < wanted[0]
    if far is not None and -far[0] == wanted[0]:
        misses = far[1] + wanted[1] > 0  # one of them excludes the only number that is left
    return [Finding(path, f"should have `{names[wanted[1]]}` {sign * wanted[0]}", misses)]


def _edge(schema: Schema, names: tuple[str, str], sign: int) -> tuple[float, int] | None:
    """The tightest bound as (distance, whether it excludes itself)."""
    edges = [(sign * schema.fields[n], k) for k, n in enumerate(names) if n in schema.fields]
    return max(edges) if edges else None
