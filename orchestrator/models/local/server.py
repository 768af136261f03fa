"""The server's process: ``transformers serve``, with a guard around it and an end of its own.

Run as ``python -m orchestrator.models.local.server``, by `launch` alone. The guard refuses a
conversation that does not fit (the server itself would answer with rubbish), and says which
weights are served. The process ends when nobody who uses it is alive any more, or when nobody has
asked anything for long.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, Protocol, cast

from filelock import FileLock, Timeout

from orchestrator.models.local.folder import context_length, prepare
from orchestrator.models.local.users import Users

CHAT = "/v1/chat/completions"
WHO = "/slowwave"
"""Where a caller asks which weights are served, and by which process."""

LOOK_S = 0.5

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Tokens(Protocol):
    """Counts the tokens of a conversation, as the model will see it."""

    def __call__(self, messages: list[dict[str, Any]]) -> int:
        """The tokens of these messages."""
        ...


class Guard:
    """Stands before the server's application.

    Args:
        app: The application.
        count: Counts a conversation's tokens.
        context: The tokens that prompt and answer may have together.
        identity: What `WHO` answers.
        clock: A monotonic clock in seconds.
    """

    def __init__(
        self,
        app: App,
        count: Tokens,
        context: int,
        identity: dict[str, Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._count, self._context = app, count, context
        self._identity, self._clock = identity, clock
        self._last = clock()
        self._running = 0

    @property
    def idle_s(self) -> float:
        """Seconds since the last answer ended; 0 while one is being given."""
        return 0.0 if self._running else self._clock() - self._last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "http" and scope["path"] == WHO:
            await _reply(send, 200, self._identity)
        elif scope["type"] == "http" and scope["path"] == CHAT:
            self._running += 1
            try:
                await self._chat(scope, receive, send)
            finally:
                self._running -= 1
                self._last = self._clock()
        else:
            await self._app(scope, receive, send)

    async def _chat(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, ended = b"", False
        while not ended:
            event = await receive()
            if event["type"] == "http.disconnect":
                return
            body += event.get("body", b"")
            ended = not event.get("more_body", False)
        refusal = self._refuse(body)
        if refusal is not None:
            await _reply(send, 400, {"error": refusal})
            return
        pending = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> MutableMapping[str, Any]:
            return pending.pop() if pending else await receive()

        await self._app(scope, again, send)

    def _refuse(self, body: bytes) -> dict[str, str] | None:
        try:
            request = json.loads(body)
            prompt = self._count(request["messages"])
            answer = int(request.get("max_tokens") or request.get("max_completion_tokens") or 1)
        except Exception as error:  # the server would fail on it, too, with less of a reason
            return {"message": f"the request cannot be read: {error}", "code": "invalid_request"}
        if prompt + answer <= self._context:
            return None
        return {
            "message": f"This model's maximum context length is {self._context} tokens, and the"
            f" conversation has {prompt}, with {answer} more for the answer.",
            "code": "context_length_exceeded",
        }


def main(arguments: list[str] | None = None) -> None:
    """Serve until nobody needs it."""
    options = _parser().parse_args(arguments)
    home: Path = options.home
    folder = home / options.name
    prepare(options.source, folder, options.dtype)
    os.chdir(home)  # the model is then called by its folder's name, and not by a path
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    identity = {"weights": options.digest, "pid": os.getpid(), "port": listener.getsockname()[1]}
    server, guard = _make(folder, identity, options)
    watch = Watch(home, guard, identity, options.idle, options.linger)

    def until_unneeded() -> None:
        while not watch.over():
            time.sleep(LOOK_S)
        server.should_exit = True

    threading.Thread(target=until_unneeded, name="watch", daemon=True).start()
    server.run(sockets=[listener])


class Watch:
    """Decides when the server is not needed any more.

    Args:
        home: The folder with the state file, its lock and the users.
        guard: Knows how long nobody has asked.
        identity: What the state file says while the server is to be found.
        idle_s: Seconds without a request after which it ends.
        linger_s: Seconds that it waits for another user after the last.
        clock: A monotonic clock in seconds.
    """

    def __init__(
        self,
        home: Path,
        guard: Guard,
        identity: dict[str, Any],
        idle_s: float,
        linger_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home, self._guard, self._clock = home, guard, clock
        self._idle_s, self._linger_s = idle_s, linger_s
        self._users = Users(home / "users")
        self._left_at: float | None = None
        self._identity = identity
        self._state = home / "server.json"
        temporary = self._state.with_suffix(".new")
        temporary.write_text(json.dumps(identity), encoding="utf-8")
        temporary.replace(self._state)

    def over(self) -> bool:
        """Whether the server is to end now; if so, nobody can find it any more."""
        if not self._found():
            return True  # another server took its place
        if self._users.alive():
            self._left_at = None
        elif self._left_at is None:
            self._left_at = self._clock()
        lonely = self._left_at is not None and self._clock() - self._left_at >= self._linger_s
        if not (lonely or self._guard.idle_s >= self._idle_s):
            return False
        try:
            # Whoever starts using a server holds the lock, so that none ends under his hands.
            with FileLock(self._home / "server.lock", timeout=0):
                if lonely and self._users.alive():
                    return False
                if self._found():
                    self._state.unlink(missing_ok=True)
                return True
        except Timeout:
            return False

    def _found(self) -> bool:
        try:
            return bool(json.loads(self._state.read_bytes()) == self._identity)
        except (OSError, ValueError):
            return False


def _make(folder: Path, identity: dict[str, Any], options: argparse.Namespace) -> tuple[Any, Guard]:
    """The HTTP server with the model loaded, and the guard before it."""
    import torch
    from transformers import AutoTokenizer
    from transformers.cli.serve import Serve

    class Prepared(Serve):  # type: ignore[misc]
        def start_server(self) -> None:
            """Leave the start to us: what runs must have the guard before it."""

    torch.set_num_threads(options.threads)
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def count(messages: list[dict[str, Any]]) -> int:
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    served = Prepared(
        force_model=folder.name,
        device="cpu",
        dtype=options.dtype,
        host="127.0.0.1",
        non_blocking=True,
    )
    config = served.server.config
    guard = Guard(cast(App, config.app), count, context_length(folder), identity)
    config.app = guard
    return served.server, guard


async def _reply(send: Send, status: int, content: dict[str, Any]) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Serves a local model; started by slowwave.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--digest", required=True)
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--idle", type=float, required=True)
    parser.add_argument("--linger", type=float, required=True)
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
