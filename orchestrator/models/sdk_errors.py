"""From what a vendor's SDK raises to our own failures, in sentences a person can act on.

The SDKs of OpenAI and Anthropic come from one generator: their exceptions have the same names.

Whatever a server says is cut short and has the key taken out before it goes into a message, and
nothing keeps the SDK's exception: its request carries the key in a header.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import Any

from pydantic import SecretStr

from orchestrator.errors import SlowwaveError
from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import (
    BadModelReply,
    MissingKey,
    ModelFailure,
    ModelOverloaded,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    PromptTooLong,
    RequestRejected,
    UnknownModel,
)

_SHOWN = 300
_NEVER_SENT = {
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "ProxyError",
    "UnsupportedProtocol",
    "LocalProtocolError",
}
_TRANSPORTS = ("httpx", "httpx2", "httpcore", "httpcore2", "anyio")
_TOO_LONG = (
    "context_length_exceeded",
    "maximum context length",
    "context length",
    "context size",
    "context window",
    "too many tokens",
    "prompt is too long",
    "exceed_context_size",
)
_BUSY = ("overloaded", "rate_limit", "429", "503", "529", "unavailable")


class ErrorTranslator:
    """Knows the model, the address and the key that must not show.

    Args:
        config: The model's configuration.
        key: Its key, to be taken out of whatever a server says.
        vendor: The SDK's module.
    """

    def __init__(self, config: ModelConfig, key: SecretStr | None, vendor: ModuleType) -> None:
        self._vendor = vendor
        self._model = config.model or ""
        self._url = config.url
        self._variable = config.api_key_env
        self._key = key
        self._timeout_s = config.timeout_s
        self._ending = ", which usually ends in /v1" if config.provider == "openai" else ""

    def translate(self, error: Exception) -> SlowwaveError | None:
        """Our failure for an exception of the SDK, its transport or its parser.

        Returns:
            The failure to raise, or ``None`` if the exception is none of theirs (a bug of ours).
        """
        if isinstance(error, self._vendor.APIStatusError):
            begun = error.status_code < 400  # an error event in a stream that had begun well
            return self._in_stream(error) if begun else self._status(error)
        if isinstance(error, self._vendor.APITimeoutError):
            return self._silent(error)
        if isinstance(error, self._vendor.APIConnectionError):
            return self._broken(error.__cause__ or error)
        if isinstance(error, self._vendor.APIError):
            return self._in_stream(error)
        if isinstance(error, UnicodeEncodeError):
            return RequestRejected(
                "The conversation holds text that is not Unicode (half of a surrogate pair).",
                mend="Look at what the scaffold put into its prompt.",
            )
        if isinstance(error, ValueError):  # JSON or UTF-8 that is none
            return BadModelReply(
                f"The server at {self._url} sent a piece that cannot be read "
                f"({type(error).__name__}).",
                mend="The call is tried again; if it persists, look at the server's log.",
            )
        if isinstance(error, OSError) or type(error).__module__.split(".")[0] in _TRANSPORTS:
            return self._silent(error) if "Timeout" in type(error).__name__ else self._broken(error)
        return None

    def timeout(self, seconds: float, *, billed: bool = True) -> ModelTimeout:
        """The failure for a wait that was cut off."""
        return ModelTimeout(
            f"Model {self._model!r} at {self._url} did not go on answering within {seconds:g} s.",
            mend="The call is tried again; if it persists, the server is too slow or stuck: raise "
            "timeout_s or deadline_s, or lower max_tokens.",
            billed=billed,
        )

    def not_a_stream(self, kind: str, body: str) -> BadModelReply:
        """The failure for a success that is not an event stream."""
        return BadModelReply(
            f"The server at {self._url} answered with {kind} in place of an event stream: "
            f"{self._quote(body)}.",
            mend=f"The server must stream its answers; check base_url{self._ending}.",
        )

    def unknown_model(self, error: Any, known: list[str] | None) -> SlowwaveError:
        """The failure for a 404, once the server was asked what it has (`None`: it won't say)."""
        if known is None:
            return UnknownModel(
                f"The server at {self._url} has no answers of the model "
                f"{self._model!r} (404): {self._quote(_said(error))}.",
                mend=f"Check base_url{self._ending}, and the model's name.",
                model=self._model,
            )
        near = difflib.get_close_matches(self._model, known, n=1, cutoff=0.5)
        listed = ", ".join(repr(self._redact(name)) for name in known[:20]) or "none"
        more = f" and {len(known) - 20} more" if len(known) > 20 else ""
        return UnknownModel(
            f"The server at {self._url} does not serve the model {self._model!r}.",
            mend=(f"Did you mean {near[0]!r}? " if near else "") + f"It has: {listed}{more}.",
            model=self._model,
            known=tuple(known),
        )

    def _status(self, error: Any) -> SlowwaveError:
        status, said, code = error.status_code, _said(error), _code(error)
        shown = f"{self._quote(said)} ({status})"
        if status in (401, 403):
            return self._key_refused(status, said)
        if status == 404 or code == "model_not_found":
            return self.unknown_model(error, None)
        if status == 402 or code == "insufficient_quota":
            return ModelOverloaded(
                f"The account behind {self._url} has no credit left: {shown}.",
                mend="Add credit at the vendor, then start again; nothing finished is lost.",
                retryable=False,
            )
        if status in (429, 503, 529):
            return ModelOverloaded(
                f"The server at {self._url} has no room for model {self._model!r} now: {shown}.",
                mend="The call is tried again; if it persists, run fewer episodes in parallel.",
                retry_after=retry_after(error.response.headers),
            )
        if status == 408:
            return self.timeout(self._timeout_s, billed=False)
        if status in (400, 413, 422):
            return self._bad_request(status, said, code)
        return BadModelReply(
            f"The server at {self._url} failed: {shown}.",
            mend="The call is tried again; if it persists, look at the server's log.",
            retryable=status >= 500 or status in (409, 425),
            billed=False,
        )

    def _key_refused(self, status: int, said: str) -> MissingKey:
        if self._variable is None:
            return MissingKey(
                f"The server at {self._url} wants a key ({status}), and model {self._model!r} "
                "is configured with none.",
                mend="Put the key into an environment variable and name that in api_key_env.",
            )
        return MissingKey(
            f"The server at {self._url} does not accept the key in {self._variable} for model "
            f"{self._model!r}: {self._quote(said)} ({status}).",
            mend=f"Set {self._variable} to a valid key for this server and model.",
            variable=self._variable,
        )

    def _bad_request(self, status: int, said: str, code: str) -> SlowwaveError:
        text = f"{code} {said}".lower()
        if status == 413 or any(sign in text for sign in _TOO_LONG):
            return PromptTooLong(
                f"The conversation does not fit model {self._model!r} at {self._url}: "
                f"{self._quote(said)} ({status}).",
                mend="Lower the scaffold's limits (read_limit, turns) or max_tokens, or serve the "
                "model with a longer context.",
            )
        if "content_filter" in text or "content_policy" in text:
            return ModelRefused(
                f"A content filter at {self._url} refused the conversation: {self._quote(said)} "
                f"({status}).",
                mend="Look at the prompts, or use another model.",
                retryable=False,
                billed=False,
            )
        return RequestRejected(
            f"The server at {self._url} rejected the request to model {self._model!r}: "
            f"{self._quote(said)} ({status}).",
            mend="Look at the model's settings and at the prompts that the scaffold composed.",
        )

    def _in_stream(self, error: Any) -> ModelFailure:
        """An error event among the pieces of an answer that had begun well."""
        code, kind = getattr(error, "code", ""), getattr(error, "type", "")
        signs = f"{code} {kind} {_code(error)} {error.message}".lower()
        message = (
            f"The server at {self._url} broke off the answer of model {self._model!r}: "
            f"{self._quote(_said(error) or error.message)}."
        )
        mend = "The call is tried again; if it persists, look at the server's log."
        if any(sign in signs for sign in _BUSY):
            return ModelOverloaded(message, mend=mend, billed=True)
        return BadModelReply(message, mend=mend)

    def _silent(self, error: Exception) -> ModelTimeout:
        name = type(error.__cause__ or error).__name__
        return self.timeout(self._timeout_s, billed=name not in _NEVER_SENT)

    def _broken(self, cause: BaseException) -> ModelUnreachable:
        never_sent = type(cause).__name__ in _NEVER_SENT
        what = "cannot be reached" if never_sent else "closed the connection too early"
        return ModelUnreachable(
            f"The server at {self._url} for model {self._model!r} {what}: "
            f"{self._quote(str(cause) or type(cause).__name__)}.",
            mend="Check that the server runs and that base_url is right; the 'heuristic' model "
            "needs no server.",
            billed=not never_sent,
        )

    def _quote(self, text: str) -> str:
        plain = " ".join(self._redact(text).split()).rstrip(".")
        return (plain[:_SHOWN] + " …") if len(plain) > _SHOWN else plain or "no reason given"

    def _redact(self, text: str) -> str:
        secret = self._key.get_secret_value() if self._key is not None else ""
        return text.replace(secret, "[key]") if secret else text


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a server asks to wait.

    Reads ``retry-after-ms``, then ``retry-after`` as seconds or as an HTTP date; a date is taken
    relative to the server's own ``date``, whose clock need not agree with ours.

    Returns:
        Seconds, never negative; ``None`` if the headers say nothing that can be understood.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    until = _date(headers.get("retry-after"))
    if until is None:
        return None
    since = _date(headers.get("date")) or now or datetime.now(UTC)
    return max(0.0, (until - since).total_seconds())


def _date(value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _said(error: Any) -> str:
    """What the server gave as reason, wherever in the body it put it."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            inner = inner.get("message") or inner.get("detail") or inner
        return inner if isinstance(inner, str) else json.dumps(inner)
    return body if isinstance(body, str) else ""


def _code(error: Any) -> str:
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        return ""
    return str(inner.get("code") or inner.get("type") or "").lower()
