from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.models.base import Usage, prompt_ceiling
from orchestrator.models.config import ROLES, ModelConfig, Prices
from orchestrator.models.errors import MissingKey

KEY = "sk-very-secret-0123456789abcdef"


def openai(**changes: Any) -> ModelConfig:
    return ModelConfig(**{"provider": "openai", "model": "m"} | changes)


def test_the_roles_are_those_of_the_architecture() -> None:
    assert ROLES == ("action", "memory", "meta", "judge", "embedding")


def test_the_defaults() -> None:
    one = openai()
    assert (one.temperature, one.top_p, one.max_tokens) == (1.0, None, 1024)
    assert (one.timeout_s, one.max_retries) == (120, 5)
    assert one.prices.free
    assert one.url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("base_url", "localhost:8000", "not an http(s) URL"),
        ("base_url", "ftp://h/v1", "not an http(s) URL"),
        ("base_url", "http://h:99999/v1", "not a URL"),
        ("base_url", f"http://user:{KEY}@h/v1", "user name or password"),
        ("base_url", f"http://h/v1?key={KEY}", "query"),
        ("api_key_env", KEY, "NAME of an environment variable"),
        ("api_key_env", "sk_" + "a1" * 20, "NAME of an environment variable"),
        ("api_key", KEY, "Extra inputs"),
        ("model", None, "needs the name of a model"),
        ("temperature", float("nan"), "finite"),
        ("price_input", "-1", "greater than or equal"),
        ("max_tokens", 0, "greater than or equal"),
        ("timeout_s", 0, "greater than"),
    ],
)
def test_a_wrong_setting_is_explained_and_never_shown(field: str, value: Any, says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        openai(**{field: value})
    assert says in str(caught.value)
    assert KEY not in str(caught.value)


def test_the_key_comes_from_the_named_variable_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", f" {KEY}\n")
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    one = openai(api_key_env="LAB_KEY")
    key = one.api_key()
    assert key is not None
    assert key.get_secret_value() == KEY
    assert openai().api_key() is None
    shown = [repr(one), str(one), one.fingerprint(), one.model_dump_json(), repr(key)]
    assert all(KEY not in text for text in shown)
    assert KEY.encode() not in pickle.dumps(one)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_an_unset_variable_is_named(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("LAB_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("LAB_KEY", value)
    with pytest.raises(MissingKey) as caught:
        openai(api_key_env="LAB_KEY").api_key()
    assert caught.value.variable == "LAB_KEY"
    assert "export LAB_KEY" in str(caught.value)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "HF_TOKEN_OF_THE_LABORATORY_2", "lab_key"])
def test_a_variables_name_is_not_taken_for_a_key(name: str) -> None:
    assert openai(api_key_env=name).api_key_env == name


def test_only_what_decides_the_answers_is_in_the_fingerprint() -> None:
    base = openai(base_url="http://h/v1")
    same = openai(
        base_url="http://h/v1/",
        api_key_env="K",
        price_input=3,
        timeout_s=1,
        deadline_s=2,
        max_retries=0,
    )
    assert same.fingerprint() == base.fingerprint()
    others = [
        openai(base_url="http://h:1/v1"),
        openai(base_url="http://h/v1", model="n"),
        openai(base_url="http://h/v1", temperature=0.5),
        openai(base_url="http://h/v1", top_p=0.5),
        openai(base_url="http://h/v1", max_tokens=7),
        ModelConfig(provider="heuristic"),
        ModelConfig(provider="heuristic", model="v2"),
    ]
    assert len({one.fingerprint() for one in [base, *others]}) == 1 + len(others)


def test_the_fingerprint_does_not_move() -> None:
    """Worked out with sha256sum; a change would orphan every stored episode."""
    # printf '%s' '{"max_tokens": 1024, "temperature": 1.0, "top_p": null, "url": "http://h/v1"}'
    assert openai(base_url="http://h/v1").fingerprint() == "openai:m:ef8eae02b75b4d32"


def test_the_price_of_a_call() -> None:
    """0.15 $/M fresh, 0.075 $/M cached, 0.60 $/M written, by hand."""
    prices = openai(price_input=0.15, price_cached=0.075, price_output=0.6).prices
    # 800 x 0.15 + 200 x 0.075 + 50 x 0.60 = 120 + 15 + 30 millionths of a dollar
    assert prices.cost(Usage(1000, 50, 200)) == Decimal("0.000165")
    assert prices.ceiling(1000, 50) == Decimal("0.000180")
    assert not prices.free


def test_a_cached_token_costs_as_much_as_another_unless_said() -> None:
    assert openai(price_input=2).prices == Prices(Decimal(2), Decimal(0), Decimal(2), Decimal(2))
    assert openai(price_input=2, price_cached=0).prices.cached == 0


def test_a_price_is_rounded_up_to_a_billionth() -> None:
    prices = Prices(input=Decimal("0.0001"))
    assert prices.cost(Usage(1, 0)) == Decimal("1e-9")  # 1e-10 in truth
    assert prices.cost(Usage(11, 0)) == Decimal("2e-9")


def test_the_prompts_ceiling_counts_bytes() -> None:
    # two bytes for é, four for the whale, 16 for the message, 64 for the template
    assert prompt_ceiling([{"role": "user", "content": "é🐋"}]) == 2 + 4 + 16 + 64
    assert prompt_ceiling([]) == 64
