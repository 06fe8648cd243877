"""An OpenAI-compatible endpoint on this machine, serving the same GGUF: llama-cpp-python's own server."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prism_planner.language.llama import default_threads
from prism_planner.language.model import EndpointError, ModelLoadError

ALIAS = "local"

_NEEDED = ("fastapi", "uvicorn", "sse_starlette", "starlette_context", "pydantic_settings")
_START_S = 120.0
_STOP_S = 10.0
_POLL_S = 0.2

# Where util-linux is, a parent that is killed leaves no server behind.
_ENDS_WITH_PARENT = ("setpriv", "--pdeathsig", "TERM", "--") if shutil.which("setpriv") else ()


@contextmanager
def local_endpoint(base: Path, *, adapter: Path | None, context_length: int, log: Path) -> Iterator[str]:
    """Serve the model as `ALIAS` while the block runs; gives the address, which ends in /v1.

    log: file for the server's output. Raises ModelLoadError when the server is not installed, EndpointError
    when it does not start.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        packages = " ".join(name.replace("_", "-") for name in _NEEDED)
        raise ModelLoadError(
            f"the local endpoint needs {', '.join(missing)}: run `pip install {packages}`, or give "
            "the address of another endpoint with --endpoint"
        )
    port = _free_port()
    writing, reading = default_threads()
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(base), "--model_alias", ALIAS]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", str(context_length)]
    command += ["--n_threads", str(writing), "--n_threads_batch", str(reading)]
    if adapter is not None:
        command += ["--lora_path", str(adapter)]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        server = subprocess.Popen([*_ENDS_WITH_PARENT, *command], stdout=output, stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}/v1"
        _wait(address, server, log)
        yield address
    finally:
        server.terminate()
        try:
            server.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            lines = log.read_text(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"exit code {server.returncode}"
            raise EndpointError(f"the local endpoint ended at once: {reason}. Its output is in {log}")
        try:
            with urllib.request.urlopen(f"{address}/models", timeout=_POLL_S):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(_POLL_S)
    raise EndpointError(f"the local endpoint did not start within {_START_S:g} s. Its output is in {log}")
