"""What MLflow is told, and what a person is told when it cannot be."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from mlflow import MlflowClient

from orchestrator.errors import InfrastructureError
from orchestrator.tracking import EXPERIMENT, Tracker, TrackingError
from tests.support.openai_server import closed_port


def test_a_night_with_its_candidate_reads_back(tmp_path: Path) -> None:
    tracker = Tracker(tmp_path)
    night = tracker.night("n1", {"rule": "two-stage"})
    assert tracker.night("n1", {"rule": "two-stage"}) == night
    run = tracker.candidate(
        night,
        "n1",
        1,
        parameters={"tree": "abc"},
        metrics={"delta": 0.5, "nothing": None},
        texts={"change.diff": "+x\n"},
    )
    tracker.finish(night, {"facts.json": {"a": 1}})
    client = MlflowClient(tracking_uri=tracker.uri)
    data = client.get_run(run).data
    assert data.metrics == {"delta": 0.5}
    assert (data.params, data.tags["mlflow.parentRunId"]) == ({"tree": "abc"}, night)
    assert (tmp_path / "mlruns" / night / "artifacts" / "facts.json").exists()


def test_a_store_of_the_users_keeps_artifacts_where_it_wants(tmp_path: Path) -> None:
    local, own = Tracker(tmp_path / "a"), f"sqlite:///{tmp_path / 'own.db'}"
    Tracker(tmp_path / "b", own)

    def location(uri: str) -> str:
        found = MlflowClient(tracking_uri=uri).get_experiment_by_name(EXPERIMENT)
        assert found is not None
        return str(found.artifact_location)

    assert location(local.uri) == (tmp_path / "a" / "mlruns").as_uri()
    assert str(tmp_path / "b") not in location(own)


def test_a_server_out_of_reach_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with closed_port() as url:
        address = url.removesuffix("/v1")
        with pytest.raises(TrackingError, match=f"The tracking store {address} cannot be used"):
            Tracker(tmp_path, address)


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("this is no database " * 100)
    with pytest.raises(TrackingError, match=r"mlflow\.db cannot be used"):
        Tracker(tmp_path)


def test_a_store_that_goes_away_under_way_stops_the_night_to_be_run_again(tmp_path: Path) -> None:
    tracker = Tracker(tmp_path)
    night = tracker.night("n1", {})
    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        for table in ("metrics", "latest_metrics", "params", "runs"):
            database.execute(f"ALTER TABLE {table} RENAME TO gone_{table}")
    database.close()
    calls: list[Callable[[], object]] = [
        partial(tracker.night, "n1", {}),
        partial(tracker.metrics, night, {"delta": 1.0}),
        partial(tracker.candidate, night, "n1", 1, parameters={}, metrics={}, texts={}),
        partial(tracker.finish, night, {}),
    ]
    for call in calls:
        with pytest.raises(TrackingError, match="run the command again") as error:
            call()
        assert isinstance(error.value, InfrastructureError)


def test_artifacts_that_cannot_be_written_are_said(tmp_path: Path) -> None:
    tracker = Tracker(tmp_path)
    night = tracker.night("n1", {})
    (tmp_path / "mlruns").write_text("a file where the folder should be")
    with pytest.raises(TrackingError, match="cannot be used"):
        tracker.finish(night, {"facts.json": {}})
