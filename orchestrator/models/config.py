"""Which model answers a role, where it is served, and what it costs.

The configuration names the environment variable that holds a key, never the key. What it prints,
hashes and pickles is therefore safe to show and to store.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from orchestrator.models.base import Usage
from orchestrator.models.errors import MissingKey

Role = Literal["action", "memory", "meta", "judge", "embedding"]
"""The jobs a model can have; a configuration gives each at most one model."""

ROLES: tuple[Role, ...] = get_args(Role)

_URLS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""Where a provider goes when no URL is given."""

_CACHE_WRITE = Decimal("1.25")

LOCAL_PLACE = "this machine"
"""Where the ``local`` provider serves its weights."""

LOCAL_DEFAULTS = {
    "model": "smollm2-135m",
    "max_tokens": 128,
    "timeout_s": 600.0,
    "deadline_s": 1800.0,
}
"""What else the ``local`` provider has as defaults."""

KEYRING_SERVICE = "slowwave"
"""The service name under which a key may lie in the system's keyring."""

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_KEY_SHAPES = re.compile(r"(?=.*\d)(sk|pk|hf|gsk|xai|key)[-_][A-Za-z0-9_-]{16,}\Z")
_NANO = Decimal(1).scaleb(-9)

Price = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model costs, in USD per million tokens.

    Args:
        input: A prompt token that the server had to read.
        output: A token that the model wrote.
        cached: A prompt token that the server found in its cache.
        cache_write: A prompt token that the server put into its cache.
    """

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    cached: Decimal = Decimal(0)
    cache_write: Decimal = Decimal(0)

    @property
    def free(self) -> bool:
        """Whether no call can ever cost money."""
        return not (self.input or self.output or self.cached or self.cache_write)

    def cost(self, usage: Usage) -> Decimal:
        """The price of one call in USD, rounded up to a billionth of a dollar."""
        fresh = usage.input_tokens - usage.cached_tokens - usage.cache_written_tokens
        millionths = (
            fresh * self.input
            + usage.cached_tokens * self.cached
            + usage.cache_written_tokens * self.cache_write
            + usage.output_tokens * self.output
        )
        return millionths.scaleb(-6).quantize(_NANO, rounding=ROUND_CEILING)

    def ceiling(self, input_tokens: int, output_tokens: int) -> Decimal:
        """The most that a call of this size can cost in USD, whatever the cache does."""
        dearest = max(self.input, self.cached, self.cache_write)
        millionths = input_tokens * dearest + output_tokens * self.output
        return millionths.scaleb(-6).quantize(_NANO, rounding=ROUND_CEILING)


class ModelConfig(BaseModel):
    """One model: provider, name, address, sampling, patience, price.

    Attributes:
        provider: ``heuristic`` (no model at all), ``anthropic`` (the Messages API), ``openai`` (any
            OpenAI-compatible URL) or ``local`` (weights on this machine, served by us).
        model: The model's name at the server; required for ``anthropic`` and ``openai``. For
            ``local``, ``smollm2-135m`` (the default) or the path of a folder or a GGUF file.
        base_url: The server's address, for ``openai`` usually ending in ``/v1``; without it, the
            vendor's own.
        api_key_env: Name of the environment variable that holds the key; none for an open server.
        temperature: Sampling temperature.
        top_p: Nucleus sampling; ``None`` leaves it to the server.
        max_tokens: The most tokens that one completion may have.
        timeout_s: Longest wait in seconds for a connection, for the first piece of an answer, or
            between two pieces.
        deadline_s: Hard end of one call in seconds, with all its retries and waits.
        max_retries: How often a failed call is tried again.
        price_input: USD per million prompt tokens.
        price_output: USD per million completion tokens.
        price_cached: USD per million prompt tokens served from a cache; ``None`` means
            ``price_input``.
        price_cache_write: USD per million prompt tokens put into a cache; ``None`` means a quarter
            more than ``price_input`` for ``anthropic``, as Anthropic lists it for five minutes, and
            ``price_input`` for others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    provider: Literal["heuristic", "anthropic", "openai", "local"]
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float = Field(default=1.0, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(default=None, gt=0, le=1, allow_inf_nan=False)
    max_tokens: int = Field(default=1024, ge=1)
    timeout_s: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    deadline_s: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    max_retries: int = Field(default=5, ge=0, le=100)
    price_input: Price = Decimal(0)
    price_output: Price = Decimal(0)
    price_cached: Price | None = None
    price_cache_write: Price | None = None

    @model_validator(mode="before")
    @classmethod
    def _suit_local(cls, fields: Any) -> Any:
        """A small model on a few processors: slower answers, and none that rambles on."""
        if isinstance(fields, dict) and fields.get("provider") == "local":
            return LOCAL_DEFAULTS | fields
        return fields

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            _ = parts.port
        except ValueError:
            raise ValueError("is not a URL; write it as http://127.0.0.1:8000/v1") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("is not an http(s) URL; write it as http://127.0.0.1:8000/v1")
        if "@" in parts.netloc:
            raise ValueError(
                "carries a user name or password; put the key into an environment variable and "
                "name that in api_key_env"
            )
        if parts.query or parts.fragment:
            raise ValueError("carries a query or fragment; give the bare address, up to /v1")
        return value.rstrip("/")

    @field_validator("api_key_env")
    @classmethod
    def _name_not_key(cls, value: str | None) -> str | None:
        if value is not None and (not _ENV_NAME.match(value) or _KEY_SHAPES.match(value)):
            raise ValueError(
                "is the NAME of an environment variable (such as OPENAI_API_KEY), and what stands "
                "there is not one; if it is the key itself, take it out of the file"
            )
        return value

    @model_validator(mode="after")
    def _complete(self) -> ModelConfig:
        for name in ("base_url", "api_key_env"):
            if self.provider == "local" and getattr(self, name) is not None:
                raise ValueError(
                    f"provider 'local' takes no {name}; leave it out, or use the provider 'openai'"
                )
        if self.provider in _URLS and not self.model:
            raise ValueError(f"provider {self.provider!r} needs the name of a model in 'model'")
        return self

    @property
    def prices(self) -> Prices:
        """All prices, with those of the cache filled in."""
        fresh = self.price_input
        cached = fresh if self.price_cached is None else self.price_cached
        written = self.price_cache_write
        if written is None:
            written = fresh * _CACHE_WRITE if self.provider == "anthropic" else fresh
        return Prices(fresh, self.price_output, cached, written)

    @property
    def url(self) -> str:
        """The server's address, safe to show: no user name, password, query or fragment.

        In words for ``local``, whose port is not known before its server is there.
        """
        if self.provider == "local":
            return LOCAL_PLACE
        parts = urlsplit(self.base_url or _URLS.get(self.provider, ""))
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))

    def fingerprint(self) -> str:
        """What decides this model's answers, for an episode's key.

        Provider, model, address and sampling; no key, no price, no patience: paying less or
        waiting longer does not make an episode another one. What the weights of ``local`` add to
        it, its client knows.
        """
        if self.provider == "heuristic":
            return f"heuristic:{self.model}" if self.model else "heuristic"
        facts = {
            "url": self.url,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
        }
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
        return f"{self.provider}:{self.model}:{digest}"

    def api_key(self) -> SecretStr | None:
        """Fetch the key from the environment, else from the system's keyring.

        Returns:
            The key, or ``None`` if the configuration names none.

        Raises:
            MissingKey: The configuration names a variable that is not set.
        """
        if self.api_key_env is None:
            return None
        value = (os.environ.get(self.api_key_env) or "").strip() or _from_keyring(self.api_key_env)
        if not value:
            raise MissingKey(
                f"Model {self.model!r} needs a key, and the environment variable "
                f"{self.api_key_env} is not set.",
                mend=f"Set it before the run (export {self.api_key_env}=...), or use the "
                "'heuristic' model, which needs none.",
                variable=self.api_key_env,
            )
        return SecretStr(value)


def _from_keyring(name: str) -> str | None:
    """Look in the system's keyring, where the optional package `keyring` is installed."""
    try:
        keyring = importlib.import_module("keyring")
        value = keyring.get_password(KEYRING_SERVICE, name)
    except Exception:  # no package, no backend, a locked keyring: all mean "not there"
        return None
    return value if isinstance(value, str) else None
