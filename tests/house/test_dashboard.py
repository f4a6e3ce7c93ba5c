"""The dashboard of `config/deploy`: the gateway's metrics, all of them, by their labels."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from gateway.telemetry import REGISTRY

DASHBOARD = Path(__file__).parents[2] / "config" / "deploy" / "grafana-dashboard.json"
METRIC = re.compile(r"\b(?:tenk|process)_[a-z_]+")
OF_HISTOGRAMS = ("_bucket", "_count", "_sum")


def targets() -> Iterator[tuple[str, str, str]]:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"], target["legendFormat"]


def exposed() -> dict[str, str]:
    names = {}
    for family in REGISTRY.collect():
        ends = {"counter": ("_total",), "histogram": OF_HISTOGRAMS}.get(family.type, ("",))
        names |= {family.name + end: family.name for end in ends}
    return names


def test_every_metric_of_the_dashboard_exists() -> None:
    known = exposed()
    assert [] == [(panel, name) for panel, query, _ in targets() for name in METRIC.findall(query) if name not in known]


def test_most_of_what_is_measured_is_on_the_dashboard() -> None:
    known = exposed()
    shown = {known[name] for _, query, _ in targets() for name in METRIC.findall(query)}
    ours = {family for family in known.values() if family.startswith("tenk_")}
    left_out = {
        "tenk_context_estimate_ratio",
        "tenk_context_summaries",
        "tenk_guard_findings",
        "tenk_http_connections_cut",
        "tenk_inbound_duplicates",
        "tenk_log_lines_dropped",
        "tenk_loop_stall_seconds",
        "tenk_store_commit_jobs",
    }
    assert left_out == ours - shown


def test_a_legend_names_only_labels_that_its_query_keeps() -> None:
    for panel, query, legend in targets():
        kept = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
        if kept or "sum(" in query:
            assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= kept, panel


def test_panels_have_ids_and_places_of_their_own() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert (len(panels), len(cells)) == (len({panel["id"] for panel in panels}), len(set(cells)))
