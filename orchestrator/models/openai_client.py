"""A client for any OpenAI-compatible server, on the official SDK.

Answers are streamed: a long one is not cut by a time-out, and one that breaks off is noticed. The
SDK's own retry is off (`retry` has the only one), and what it would read from the environment by
itself (``OPENAI_API_KEY``, ``OPENAI_BASE_URL``) it never does: a key goes to the server it is
configured for, or nowhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import openai

from orchestrator.errors import SlowwaveError
from orchestrator.models import retry
from orchestrator.models.base import Completion, Message
from orchestrator.models.config import ModelConfig
from orchestrator.models.eventloop import LoopThread
from orchestrator.models.openai_errors import ErrorTranslator
from orchestrator.models.openai_stream import StreamAssembler

CONNECT_S = 10.0
"""The longest wait for a connection; a server that answers at all accepts one much sooner."""

TAIL_S = 5.0
"""The longest wait for the usage report of an answer that is already whole."""

_GRACE_S = 5.0
_LIST_S = 5.0
_NO_KEY = "none"


@dataclass(slots=True)
class _Session:
    """What belongs to one process: a forked child has no thread and must not share sockets."""

    pid: int
    loop: LoopThread
    sdk: openai.AsyncOpenAI


class OpenAIClient:
    """Asks one model of one server.

    Args:
        config: Which model, where, and how patiently.

    Raises:
        MissingKey: The configured environment variable is not set.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._key = config.api_key()
        self._errors = ErrorTranslator(config, self._key)
        self._session: _Session | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"OpenAIClient({self._config.model!r} at {self._config.url})"

    def complete(self, messages: Sequence[Message]) -> Completion:
        """Answer the conversation, trying again as the configuration allows."""
        policy = retry.RetryPolicy(self._config.max_retries, self._config.deadline_s)
        return retry.call(lambda seconds: self.attempt(messages, seconds=seconds), policy)

    def attempt(self, messages: Sequence[Message], *, seconds: float) -> Completion:
        """Ask once.

        Args:
            messages: The conversation.
            seconds: Hard end, whatever the server does.

        Raises:
            ModelFailure: The try failed.
            MissingKey: The server does not accept the key.
            UnknownModel: The server does not have the model.
            PromptTooLong: The conversation does not fit.
            RequestRejected: The server calls the request wrong.
        """
        session = self._open()
        try:
            return session.loop.run(self._ask(session.sdk, messages, seconds), seconds + _GRACE_S)
        except TimeoutError:
            raise self._errors.timeout(seconds) from None

    def fingerprint(self) -> str:
        """What decides the answers."""
        return self._config.fingerprint()

    def close(self) -> None:
        """Close connections and the thread; the next call opens them again."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None and session.pid == os.getpid():
            session.loop.close(session.sdk.close())

    async def _ask(
        self, sdk: openai.AsyncOpenAI, messages: Sequence[Message], seconds: float
    ) -> Completion:
        try:
            return await self._stream(sdk, messages, seconds)
        except SlowwaveError:
            raise
        except openai.NotFoundError as error:
            failure = self._errors.unknown_model(error, await _models(sdk))
        except Exception as error:
            translated = self._errors.translate(error)
            if translated is None:
                raise
            failure = translated
        # Outside the handler, so that no chained exception carries the request and its key along.
        raise failure

    async def _stream(
        self, sdk: openai.AsyncOpenAI, messages: Sequence[Message], seconds: float
    ) -> Completion:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        answer = StreamAssembler(messages, self._config.model or "", self._config.url)
        patience = min(seconds, self._connect_s + self._config.timeout_s)
        try:
            async with asyncio.timeout(patience) as limit:
                async with self._request(sdk, messages) as stream:
                    patience = min(self._config.timeout_s, end - loop.time())
                    limit.reschedule(loop.time() + patience)
                    async for chunk in stream:
                        if answer.feed(chunk):
                            tail = TAIL_S if answer.finished else self._config.timeout_s
                            patience = min(tail, self._config.timeout_s)
                            limit.reschedule(min(loop.time() + patience, end))
        except (TimeoutError, openai.APIConnectionError) as error:
            if answer.finished:
                return answer.completion()  # whole already; only its usage report is missing
            if isinstance(error, openai.APIConnectionError):
                raise
            raise self._errors.timeout(min(patience, seconds)) from None
        return answer.completion()

    @asynccontextmanager
    async def _request(
        self, sdk: openai.AsyncOpenAI, messages: Sequence[Message]
    ) -> AsyncIterator[openai.AsyncStream[Any]]:
        config = self._config
        official = (urlsplit(config.url).hostname or "").endswith("api.openai.com")
        ceiling = "max_completion_tokens" if official else "max_tokens"
        options: dict[str, Any] = {
            "model": config.model,
            "messages": list(messages),
            "temperature": config.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
            ceiling: config.max_tokens,
        }
        if config.top_p is not None:
            options["top_p"] = config.top_p
        stream = cast("openai.AsyncStream[Any]", await sdk.chat.completions.create(**options))
        async with stream:
            kind = stream.response.headers.get("content-type", "").partition(";")[0].strip()
            if kind.endswith(("json", "html")):
                body = (await stream.response.aread()).decode("utf-8", "replace")
                raise self._errors.not_a_stream(kind, body)
            yield stream

    @property
    def _connect_s(self) -> float:
        return min(CONNECT_S, self._config.timeout_s)

    def _open(self) -> _Session:
        with self._lock:
            if self._session is None or self._session.pid != os.getpid():
                loop = LoopThread("slowwave-openai")
                self._session = _Session(os.getpid(), loop, self._make_sdk())
            return self._session

    def _make_sdk(self) -> openai.AsyncOpenAI:
        key = self._key.get_secret_value() if self._key is not None else _NO_KEY
        headers: dict[str, Any] = {"Authorization": f"Bearer {key}"}
        if self._config.base_url is not None:  # the organisation is nobody else's business
            headers |= {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        timeout = openai.Timeout(self._config.timeout_s, connect=self._connect_s)
        return openai.AsyncOpenAI(
            api_key=key,
            base_url=self._config.url,
            default_headers=headers,
            max_retries=0,
            timeout=timeout,
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=timeout,
                trust_env=not is_loopback(self._config.url),
                verify=_tls(self._config.url),
            ),
        )


async def _models(sdk: openai.AsyncOpenAI) -> list[str] | None:
    """The names of the server's models; ``None`` if it does not tell in a few seconds."""
    try:
        async with asyncio.timeout(_LIST_S):
            page = await sdk.models.list(timeout=_LIST_S)
        return sorted(model.id for model in page.data)
    except Exception:  # a courtesy on the way to another error, so its own fate does not matter
        return None


def _tls(url: str) -> ssl.SSLContext | bool:
    """Load the authorities only where they are needed: it takes longer than a local answer."""
    if urlsplit(url).scheme == "https":
        return True
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, should a redirect lead to TLS


def is_loopback(url: str) -> bool:
    """Whether the server is on this machine, where no proxy of the environment can lead."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
