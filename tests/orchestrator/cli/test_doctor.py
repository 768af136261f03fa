"""The doctor's single checks, on machines that lack something."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from orchestrator import doctor
from orchestrator.models.config import ModelConfig
from tests.support.openai_server import (
    OpenAIServer,
    closed_port,
    openai_server,
    running_openai_server,
    serve_raw,
)

__all__ = ["openai_server", "running_openai_server"]

KEY = "sk-secret-0123456789abcdef"


def remote(url: str, name: str = "tiny-1", key: str | None = None) -> ModelConfig:
    return ModelConfig(provider="openai", model=name, base_url=url, api_key_env=key)


def test_a_missing_package_is_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "mlflow":
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor.metadata, "version", version)
    check = doctor._packages()
    assert not check.ok
    assert check.found == "not installed: mlflow"
    assert check.mend == "Install what is missing: pip install mlflow"


@pytest.mark.parametrize(
    ("said", "ok"),
    [
        ("git version 2.32.0", True),
        ("git version 2.39.5 (Apple Git-154)", True),
        ("git version 3.0.1", True),
        ("git version 2.31.9", False),
        ("git version 1.40", False),
        ("something else", False),
    ],
)
def test_the_version_of_git(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, ok: bool
) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    check = doctor._git()
    assert check.ok is ok
    assert check.found == f"{said} at {program}"
    assert check.mend == "Install git 2.32 or newer."


def test_no_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    check = doctor._git()
    assert (check.ok, check.found) == (False, "not found")


class TestModelServer:
    def test_that_lists_the_model(self, openai_server: OpenAIServer) -> None:
        check = doctor._server("model for action", remote(openai_server.url))
        assert (check.ok, check.found) == (True, f"tiny-1 at {openai_server.url}")
        assert openai_server.listings == 1

    def test_that_lists_others(self, openai_server: OpenAIServer) -> None:
        check = doctor._server("model for action", remote(openai_server.url, "tiny-3"))
        assert (check.ok, check.needed) == (False, False)
        assert check.found.endswith("does not list tiny-3")
        assert "It lists: tiny-1, tiny-2." in check.mend

    def test_that_lists_nothing(self, openai_server: OpenAIServer) -> None:
        openai_server.models = None
        check = doctor._server("model for action", remote(openai_server.url))
        assert check.ok
        assert "does not list its models" in check.found

    def test_that_is_not_there(self) -> None:
        with closed_port() as url:
            check = doctor._server("model for action", remote(url))
        assert (check.ok, check.needed) == (False, True)
        assert url in check.found
        assert "base_url" in check.mend

    def test_that_is_silent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor, "ANSWER_S", 0.05)
        with serve_raw(b"", every_s=1.0) as url:
            check = doctor._server("model for action", remote(url))
        assert not check.ok
        assert "within 0.05 s" in check.found

    def test_whose_refusal_repeats_the_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOCTOR_KEY", KEY)
        body = f'{{"error": {{"message": "wrong key {KEY}"}}}}'.encode()
        head = b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n"
        length = f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        with serve_raw(head + length + body) as url:
            check = doctor._server("model for action", remote(url, key="DOCTOR_KEY"))
        assert not check.ok
        assert "DOCTOR_KEY" in check.found
        assert "wrong key [key]" in check.found
        assert KEY not in check.model_dump_json()

    def test_is_not_asked_with_what_is_no_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOCTOR_KEY", "first\nsecond")
        with closed_port() as url:
            check = doctor._server("model for action", remote(url, key="DOCTOR_KEY"))
        assert not check.ok
        assert "DOCTOR_KEY is no key" in check.found
        assert "second" not in check.model_dump_json()

    def test_is_not_asked_without_its_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("DOCTOR_KEY", raising=False)
        with closed_port() as url:
            check = doctor._server("model for action", remote(url, key="DOCTOR_KEY"))
        assert (check.ok, "DOCTOR_KEY is not set" in check.found) == (False, True)
