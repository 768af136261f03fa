from tests.support.openai_server import openai_server, running_openai_server

__all__ = ["openai_server", "running_openai_server"]
