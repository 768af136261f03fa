"""Tracking in MLflow: one run per night, one nested run per candidate.

Only one process writes, through a client with explicit run ids; runs are found again by their tags,
so that a night that was killed goes on in the runs it had.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import InfrastructureError

EXPERIMENT = "slowwave"


class TrackingError(InfrastructureError):
    """The tracking store cannot be used."""


class Tracker:
    """Writes nights and candidates to MLflow.

    Args:
        artifacts: The artifacts folder; holds the store unless `uri` says otherwise.
        uri: An MLflow tracking URI.
    """

    def __init__(self, artifacts: Path, uri: str | None = None) -> None:
        # Before the import, which reads them: no calls home, no progress bars, no advice.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("DO_NOT_TRACK", "true")
        os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
        os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
        from mlflow import MlflowClient

        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self.uri = uri or f"sqlite:///{artifacts / 'mlflow.db'}"
        # A server of the user's decides itself where artifacts go; this folder may not be its own.
        location = None if uri else (artifacts / "mlruns").resolve().as_uri()
        with self._usable():
            artifacts.mkdir(parents=True, exist_ok=True)
            self._client = MlflowClient(tracking_uri=self.uri)
            found = self._client.get_experiment_by_name(EXPERIMENT)
            self._experiment = (
                found.experiment_id
                if found
                else self._client.create_experiment(EXPERIMENT, artifact_location=location)
            )

    def night(self, night: str, parameters: Mapping[str, object]) -> str:
        """The run of a night, made the first time; returns its id.

        Raises:
            TrackingError: The store is gone or full.
        """
        with self._usable():
            run = self._run({"slowwave.night": night, "slowwave.kind": "night"}, f"night {night}")
            self._parameters(run, parameters)
        return run

    def candidate(
        self,
        parent: str,
        night: str,
        number: int,
        *,
        parameters: Mapping[str, object],
        metrics: Mapping[str, float | None],
        texts: Mapping[str, str],
    ) -> str:
        """Write a judged candidate as a nested run; returns the run's id.

        Args:
            parent: Id of the night's run.
            night: Id of the night.
            number: The candidate's number in it.
            parameters: What it is.
            metrics: What was measured; ``None`` values are left out.
            texts: Artifacts by file name: the diff, the verdict.

        Raises:
            TrackingError: The store is gone or full.
        """
        tags = {
            "slowwave.night": night,
            "slowwave.kind": "candidate",
            "slowwave.number": str(number),
            "mlflow.parentRunId": parent,
        }
        with self._usable():
            run = self._run(tags, f"candidate {number}")
            self._parameters(run, parameters)
            self._metrics(run, metrics)
            for name, text in texts.items():
                self._client.log_text(run, text, name)
            self._client.set_terminated(run)
        return run

    def metrics(self, run: str, metrics: Mapping[str, float | None]) -> None:
        """Write metrics; ``None`` values are left out.

        Raises:
            TrackingError: The store is gone or full.
        """
        with self._usable():
            self._metrics(run, metrics)

    def finish(self, run: str, texts: Mapping[str, object]) -> None:
        """Close a night's run with its facts as JSON artifacts.

        Raises:
            TrackingError: The store is gone or full.
        """
        with self._usable():
            for name, value in texts.items():
                self._client.log_text(run, json.dumps(value, indent=1), name)
            self._client.set_terminated(run)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Give every failure of the store its sentence: the night can be run again."""
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (MlflowException, SQLAlchemyError, OSError) as error:
            words = " ".join(str(error).split())[:500]
            raise TrackingError(
                f"The tracking store {self.uri} cannot be used: {words}",
                mend="Check that it can be reached and that its disk has room, and [tracking] uri"
                " in slowwave.toml; leave that out for a local file. Then run the command again.",
            ) from error

    def _run(self, tags: dict[str, str], name: str) -> str:
        wanted = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
        found = self._client.search_runs([self._experiment], wanted, max_results=1)
        if found:
            return str(found[0].info.run_id)
        run = self._client.create_run(self._experiment, tags=tags, run_name=name)
        return str(run.info.run_id)

    def _metrics(self, run: str, metrics: Mapping[str, float | None]) -> None:
        for name, value in metrics.items():
            if value is not None:
                self._client.log_metric(run, name, value)

    def _parameters(self, run: str, parameters: Mapping[str, object]) -> None:
        known = self._client.get_run(run).data.params
        for key, value in parameters.items():
            if key not in known:
                self._client.log_param(run, key, str(value)[:6000])
