"""From a configuration to a client.

Providers are looked up in a table that the caller completes: the heuristic's policy is a room of
its own, and this one does not import it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchestrator.errors import UsageError
from orchestrator.models.base import ModelClient
from orchestrator.models.config import ModelConfig

ClientFactory = Callable[[ModelConfig], ModelClient]


def make_client(config: ModelConfig, registry: Mapping[str, ClientFactory]) -> ModelClient:
    """Make the client that a configuration asks for.

    Args:
        config: The model.
        registry: Makers by provider; those given here go before the built-in ones.

    Raises:
        UsageError: Nothing makes clients for this provider.
        MissingKey: The model needs a key that is not there.
    """
    factory = registry.get(config.provider) or _BUILT_IN.get(config.provider)
    if factory is None:
        raise UsageError(
            f"No client is registered for the model provider {config.provider!r}.",
            mend=f"There are: {', '.join(sorted({*registry, *_BUILT_IN}))}.",
        )
    return factory(config)


def _openai(config: ModelConfig) -> ModelClient:
    # An SDK takes a second to import, which nights on the heuristic should not pay.
    from orchestrator.models.openai_client import OpenAIClient

    return OpenAIClient(config)


def _anthropic(config: ModelConfig) -> ModelClient:
    from orchestrator.models.anthropic_client import AnthropicClient

    return AnthropicClient(config)


def _local(config: ModelConfig) -> ModelClient:
    from orchestrator.models.local.client import LocalClient

    return LocalClient(config)


_BUILT_IN: dict[str, ClientFactory] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "local": _local,
}
