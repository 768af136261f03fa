"""The client: the one for OpenAI-compatible servers, pointed at the server on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from orchestrator.models import retry
from orchestrator.models.base import Completion, Message
from orchestrator.models.config import ModelConfig
from orchestrator.models.errors import ModelUnreachable
from orchestrator.models.local.launch import Served, ensure
from orchestrator.models.local.weights import SMOLLM2, Weights, find, precision
from orchestrator.models.openai_client import OpenAIClient


class LocalClient:
    """Asks a model whose weights lie on this machine.

    The server is started when it is first needed, not before: a night that finds every result in
    its store needs none.

    Args:
        config: Which model, and how it samples.
        start: Finds the server of some weights, or starts it.

    Raises:
        UsageError: There is no such model, or what it needs is not installed.
    """

    def __init__(self, config: ModelConfig, *, start: Callable[[Weights], Served] = ensure) -> None:
        self._config, self._start = config, start
        self._weights = find(config.model or SMOLLM2)
        self._client: OpenAIClient | None = None
        self._served: Served | None = None
        self._pid = 0

    def __repr__(self) -> str:
        return f"LocalClient({self._weights.name!r})"

    @property
    def served(self) -> Served | None:
        """The server that was asked last, if one was."""
        return self._served

    def complete(self, messages: Sequence[Message]) -> Completion:
        """Answer the conversation, trying again as the configuration allows."""
        policy = retry.RetryPolicy(self._config.max_retries, self._config.deadline_s)
        return retry.call(lambda seconds: self.attempt(messages, seconds=seconds), policy)

    def attempt(self, messages: Sequence[Message], *, seconds: float) -> Completion:
        """Ask once; see `OpenAIClient.attempt`. The wait for a server to start comes on top."""
        client = self._open()
        try:
            return client.attempt(messages, seconds=seconds)
        except ModelUnreachable:
            self.close()  # it is gone: the next try looks for it again, and starts another
            raise

    def fingerprint(self) -> str:
        """What decides the answers: weights, their precision, and the sampling."""
        weights = self._weights
        by_content = self._config.model_copy(update={"model": weights.digest[:16]})
        return f"{by_content.fingerprint()}:{precision()}"

    def close(self) -> None:
        """Close connections; the server stays for the others, and ends after them."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _open(self) -> OpenAIClient:
        # A forked child is a user of its own, and must not share sockets.
        if self._client is None or self._pid != os.getpid():
            self._served = self._start(self._weights)
            self._pid = os.getpid()
            self._client = OpenAIClient(
                self._config.model_copy(
                    update={
                        "provider": "openai",
                        "model": self._weights.name,
                        "base_url": self._served.url,
                    }
                )
            )
        return self._client
