"""What the clients of both vendors' SDKs do alike: one streamed try under hard deadlines.

Answers are streamed: a long one is not cut by a time-out, and one that breaks off is noticed. The
SDKs' own retry is off (`retry` has the only one), and what they would read from the environment by
themselves (``OPENAI_API_KEY``, ``ANTHROPIC_BASE_URL``, ...) they never do: a key goes to the server
it is configured for, or nowhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import urlsplit

from orchestrator.errors import SlowwaveError
from orchestrator.models import retry
from orchestrator.models.base import Ask, Completion, Message, Question
from orchestrator.models.config import ModelConfig
from orchestrator.models.eventloop import LoopThread
from orchestrator.models.sdk_errors import ErrorTranslator

CONNECT_S = 10.0
"""The longest wait for a connection; a server that answers at all accepts one much sooner."""

TAIL_S = 5.0
"""The longest wait for the usage report of an answer that is already whole."""

_GRACE_S = 5.0
_LIST_S = 5.0


class Assembler(Protocol):
    """Makes one completion of the pieces of a stream."""

    @property
    def finished(self) -> bool:
        """Whether the server has said that the answer is whole."""

    def feed(self, piece: object) -> bool:
        """Take one piece; returns whether it brought the answer forward."""

    def completion(self) -> Completion:
        """The whole answer; raises a `ModelFailure` if it is none."""


@dataclass(slots=True)
class _Session:
    """What belongs to one process: a forked child has no thread and must not share sockets."""

    pid: int
    loop: LoopThread
    sdk: Any


class SdkClient(ABC):
    """Asks one model of one server.

    Args:
        config: Which model, where, and how patiently.
        vendor: The SDK's module, with its exceptions.

    Raises:
        MissingKey: The configured environment variable is not set.
    """

    def __init__(self, config: ModelConfig, vendor: ModuleType) -> None:
        self._config = config
        self._vendor = vendor
        self._key = config.api_key()
        self._errors = ErrorTranslator(config, self._key, vendor)
        self._session: _Session | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._config.model!r} at {self._config.url})"

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
        return self._within(messages, seconds)

    def converse(self, question: Question, *, seconds: float) -> Completion:
        """Ask once, with tools; arguments and errors as `attempt`."""
        return self._within(question, seconds)

    def fingerprint(self) -> str:
        """What decides the answers."""
        return self._config.fingerprint()

    def close(self) -> None:
        """Close connections and the thread; the next call opens them again."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None and session.pid == os.getpid():
            session.loop.close(session.sdk.close())

    @abstractmethod
    def _make_sdk(self) -> Any:
        """The SDK's asynchronous client."""

    @abstractmethod
    async def _start(self, sdk: Any, ask: Ask) -> Any:
        """Send the request; returns the SDK's stream."""

    @abstractmethod
    def _assembler(self, ask: Ask) -> Assembler:
        """What takes in the answer."""

    def _within(self, ask: Ask, seconds: float) -> Completion:
        session = self._open()
        try:
            return session.loop.run(self._ask(session.sdk, ask, seconds), seconds + _GRACE_S)
        except TimeoutError:
            raise self._errors.timeout(seconds) from None

    async def _ask(self, sdk: Any, ask: Ask, seconds: float) -> Completion:
        try:
            return await self._stream(sdk, ask, seconds)
        except SlowwaveError:
            raise
        except self._vendor.NotFoundError as error:
            failure = self._errors.unknown_model(error, await _models(sdk))
        except Exception as error:
            translated = self._errors.translate(error)
            if translated is None:
                raise
            failure = translated
        # Outside the handler, so that no chained exception carries the request and its key along.
        raise failure

    async def _stream(self, sdk: Any, ask: Ask, seconds: float) -> Completion:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        answer = self._assembler(ask)
        patience = min(seconds, self._connect_s + self._config.timeout_s)
        try:
            async with asyncio.timeout(patience) as limit:
                async with self._request(sdk, ask) as stream:
                    patience = min(self._config.timeout_s, end - loop.time())
                    limit.reschedule(loop.time() + patience)
                    async for piece in stream:
                        if answer.feed(piece):
                            tail = TAIL_S if answer.finished else self._config.timeout_s
                            patience = min(tail, self._config.timeout_s)
                            limit.reschedule(min(loop.time() + patience, end))
        except (TimeoutError, self._vendor.APIConnectionError) as error:
            if answer.finished:
                return answer.completion()  # whole already; only its usage report is missing
            if isinstance(error, self._vendor.APIConnectionError):
                raise
            raise self._errors.timeout(min(patience, seconds)) from None
        return answer.completion()

    @asynccontextmanager
    async def _request(self, sdk: Any, ask: Ask) -> AsyncIterator[Any]:
        stream = await self._start(sdk, ask)
        async with stream:
            kind = stream.response.headers.get("content-type", "").partition(";")[0].strip()
            if kind.endswith(("json", "html")):
                body = (await stream.response.aread()).decode("utf-8", "replace")
                raise self._errors.not_a_stream(kind, body)
            yield stream

    @property
    def _connect_s(self) -> float:
        return min(CONNECT_S, self._config.timeout_s)

    @property
    def _timeout(self) -> Any:
        return self._vendor.Timeout(self._config.timeout_s, connect=self._connect_s)

    @property
    def _http(self) -> Any:
        url = self._config.url
        return self._vendor.DefaultAsyncHttpxClient(
            timeout=self._timeout, trust_env=not is_loopback(url), verify=_tls(url)
        )

    def _open(self) -> _Session:
        with self._lock:
            if self._session is None or self._session.pid != os.getpid():
                loop = LoopThread(f"slowwave-{self._vendor.__name__}")
                self._session = _Session(os.getpid(), loop, self._make_sdk())
            return self._session


async def _models(sdk: Any) -> list[str] | None:
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
