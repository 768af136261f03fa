"""The doctor's single checks, on machines that lack something."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from envs import registry
from envs.determinism import DeterminismCheck
from envs.registry import EnvironmentSpec
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


def lacking(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Hide installed distributions, not their modules."""
    there = metadata.version

    def version(name: str) -> str:
        if name in names:
            raise metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(doctor.metadata, "version", version)


@pytest.mark.parametrize(
    ("names", "needed"),
    [(("nle",), False), (("minihack", "nle"), False), (("crafter", "nle"), True)],
)
def test_a_game_that_is_not_installed_is_not_needed(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], needed: bool
) -> None:
    lacking(monkeypatch, *names)
    check = doctor._packages()
    assert (check.ok, check.needed) == (False, needed)
    assert check.found == f"not installed: {', '.join(names)}"


class TestSeeds:
    def test_of_a_game_that_is_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lacking(monkeypatch, "minihack")
        check = doctor._seeds_of("minihack/quest-easy-v1")
        assert (check.name, check.ok, check.needed) == (
            "seeds of minihack/quest-easy-v1",
            False,
            False,
        )
        assert check.found == (
            "minihack is not installed, so minihack/quest-easy-v1 cannot be played here"
        )
        assert check.mend == "Install it: pip install minihack"

    def test_without_crafter_nothing_works(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lacking(monkeypatch, "crafter")
        assert doctor._seeds_of("crafter-v1").needed

    def test_that_do_not_hold(self, monkeypatch: pytest.MonkeyPatch) -> None:
        differs = DeterminismCheck("nethack-v1", False, ("a", "b"), "They differ.")
        monkeypatch.setattr(doctor, "check_determinism", lambda name: differs)
        check = doctor._seeds_of("nethack-v1")
        assert (check.ok, check.needed, check.found) == (False, True, "They differ.")
        assert check.mend == "Install the versions in constraints.txt."

    def test_are_tried_for_every_kind_in_this_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        holds = DeterminismCheck("x", True, ("a", "a"), "Alike.")
        monkeypatch.setattr(doctor, "check_determinism", lambda name: holds)
        assert [check.name for check in doctor._seeds()] == [
            "seeds of crafter-v1",
            "seeds of nethack-v1",
            "seeds of minihack/mazewalk-9x9-v1",
            "seeds of minihack/quest-easy-v1",
        ]


class TestEnvironments:
    def test_that_are_away_are_named_with_the_reason(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("SLOWWAVE_DATA", str(tmp_path))
        check = doctor._environments()
        assert (check.ok, check.needed) == (False, False)
        assert check.found == (
            "8 of 10 can be played. minihack/boxoban-medium-v1 needs the Boxoban levels, which are"
            " not here. minihack/boxoban-hard-v1 needs the Boxoban levels, which are not here."
        )
        assert check.mend.count("slowwave envs add-boxoban PATH") == 1

    def test_one_that_cannot_be_imported_leaves_the_others(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ghost = EnvironmentSpec("ghost-v1", "no_such_module_here", "Ghost", "ghost-game")
        crafter = registry.SPECS["crafter-v1"]
        specs = {"crafter-v1": crafter, "ghost-v1": ghost}
        for place in (registry, doctor):
            monkeypatch.setattr(place, "SPECS", specs)
        check = doctor._environments()
        assert (check.ok, check.needed) == (False, False)
        assert check.found == (
            "1 of 2 can be played. ghost-v1 cannot be used here:"
            " No module named 'no_such_module_here'."
        )
        assert check.mend == "Install what it needs: pip install ghost-game."


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
