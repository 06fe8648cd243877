"""llama.cpp, reduced to what planning needs: one token sequence whose evaluated prefix is kept.

Evaluation is canonical: batches are padded so that each row takes the same matrix kernel. llama.cpp uses
others, with other rounding, for a single row, and away from x86 for the rows left over from groups of
four. Logits then depend on the tokens before them alone, not on how evaluation was cut into batches, and
reusing a prefix cannot change an answer. Flash attention, whose kernels differ by batch size too, is off.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import llama_cpp
import numpy as np
from llguidance import LLTokenizer
from llguidance.llamacpp import lltokenizer_from_vocab
from numpy.typing import NDArray

from prism_planner.language.model import LanguageModelError, ModelLoadError

BATCH = 64
DEFAULT_CONTEXT_LENGTH = 8192
_ROWS = 2 if platform.machine() in ("x86_64", "AMD64") else 4
_READING_ROWS = 16
_ABORTED = 2
_LOG_ERROR = 4  # ggml_log_level

_errors: deque[str] = deque(maxlen=8)
_loading = threading.Lock()


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_errors(level: int, text: bytes, _data: object) -> None:
    """Silence llama.cpp, and keep its error lines: they hold the reason that its return values lack."""
    line = text.decode(errors="replace").strip()
    if level == _LOG_ERROR and line:
        _errors.append(line)


@contextmanager
def capture_errors() -> Iterator[Callable[[], str]]:
    """Silence llama.cpp's log; gives a function that tells the errors it logged inside the block."""
    with _loading:
        llama_cpp.llama_log_set(_keep_errors, None)
        _errors.clear()
        yield _reason


class EvaluationAborted(Exception):
    """`LlamaContext.abort` was called during an evaluation."""


class LlamaContext:
    """A loaded GGUF with one KV sequence. Only `tokenize` and `abort` may be called from any thread."""

    def __init__(
        self,
        path: Path,
        *,
        context_length: int | None,
        threads: int,
        reading_threads: int,
        gpu_layers: int,
    ) -> None:
        """context_length: in tokens; by default what the model was trained with, at most 8192. threads: for
        a few tokens at a time. reading_threads: for batches, which are long enough to share.

        Raises ModelLoadError, naming the file and the reason.
        """
        check_gguf(path)
        self.path = path
        self.evaluated: list[int] = []
        self._rows: dict[int, int] = {}  # position -> row of the last batch that has its logits
        self._adapter: ctypes.c_void_p | None = None
        self._threads, self._reading_threads = threads, reading_threads
        self._in_use = threading.Lock()
        self.closed = False
        with capture_errors() as reason:
            llama_cpp.llama_backend_init()
            model_parameters = llama_cpp.llama_model_default_params()
            model_parameters.n_gpu_layers = gpu_layers
            self._model = llama_cpp.llama_model_load_from_file(os.fsencode(path), model_parameters)
            if not self._model:
                raise ModelLoadError(f"{path} cannot be loaded: {reason()}. Get the file again")
            trained = llama_cpp.llama_model_n_ctx_train(self._model)
            self.context_length: int = context_length or min(trained, DEFAULT_CONTEXT_LENGTH)
            parameters = llama_cpp.llama_context_default_params()
            parameters.n_ctx = self.context_length + _ROWS
            parameters.n_batch = parameters.n_ubatch = BATCH
            parameters.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
            self._context = llama_cpp.llama_init_from_model(self._model, parameters)
            if not self._context:
                llama_cpp.llama_model_free(self._model)
                raise ModelLoadError(
                    f"{path} cannot be run with a context of {self.context_length} tokens: {reason()}. "
                    "Choose a shorter context_length"
                )
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self.begin_text = self._begin_text()
        """The spelling of the token that starts every sequence; empty when the model wants none."""
        self._batch = llama_cpp.llama_batch_init(BATCH, 0, 1)
        self._install_abort()
        self.vocabulary_size: int = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self.end_tokens = [
            token for token in range(self.vocabulary_size) if llama_cpp.llama_vocab_is_eog(self._vocab, token)
        ]

    # -- text -------------------------------------------------------------------------------------

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokens of `text`. special: read the spelling of control tokens as those tokens."""
        data = text.encode(errors="replace")
        capacity = len(data) + 8
        buffer = (llama_cpp.llama_token * capacity)()
        with self._in_use:
            if self.closed:
                raise LanguageModelError(f"the model {self.path.name} is closed")
            count = llama_cpp.llama_tokenize(self._vocab, data, len(data), buffer, capacity, False, special)
        if count < 0:
            raise LanguageModelError(f"llama.cpp cannot tokenise a text of {len(data)} bytes")
        return list(buffer[:count])

    def token_bytes(self, token: int) -> bytes:
        """The bytes a token stands for; none for control tokens."""
        buffer = ctypes.create_string_buffer(512)
        count = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
        return buffer.raw[: max(count, 0)]

    def control_tokens(self) -> NDArray[np.bool_]:
        """A mask over the vocabulary of the tokens that are no text."""
        return np.fromiter(
            (llama_cpp.llama_vocab_is_control(self._vocab, t) for t in range(self.vocabulary_size)),
            dtype=np.bool_,
            count=self.vocabulary_size,
        )

    def constraint_tokenizer(self) -> LLTokenizer:
        """llguidance's view of the vocabulary; takes about 0.3 s to build."""
        with warnings.catch_warnings():
            # llguidance still calls a function by its old name, once for each token.
            warnings.simplefilter("ignore", DeprecationWarning)
            return lltokenizer_from_vocab(self._vocab, eos_token=self.end_tokens)

    def metadata(self, key: str) -> str | None:
        """A value of the GGUF's metadata as text."""
        size = 1 << 10
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = llama_cpp.llama_model_meta_val_str(self._model, key.encode(), buffer, size)
            if length < 0:
                return None
            if length < size:
                return buffer.raw[:length].decode(errors="replace")
            size = length + 1

    def _begin_text(self) -> str:
        if not llama_cpp.llama_vocab_get_add_bos(self._vocab):
            return ""
        text = llama_cpp.llama_vocab_get_text(self._vocab, llama_cpp.llama_vocab_bos(self._vocab))
        return str(text.decode())

    # -- evaluation -------------------------------------------------------------------------------

    def common_prefix(self, tokens: list[int]) -> int:
        """How many leading tokens are evaluated already."""
        if self.evaluated == tokens[: len(self.evaluated)]:
            return len(self.evaluated)
        if self.evaluated[: len(tokens)] == tokens:
            return len(tokens)
        kept = 0
        for ours, theirs in zip(self.evaluated, tokens, strict=False):
            if ours != theirs:
                break
            kept += 1
        return kept

    def evaluate(
        self,
        tokens: list[int],
        *,
        draft: Callable[[list[int]], Sequence[int]] = lambda _tokens: (),
        check: Callable[[], None] = lambda: None,
    ) -> NDArray[np.float32]:
        """Evaluate `tokens` as the whole sequence and return the logits behind the last, shape [vocabulary].

        Only what follows the common prefix with the sequence evaluated before is computed. `draft`
        guesses how `tokens` go on; the guess is evaluated along, and where it comes true the next calls
        compute nothing. `check` is called before each batch and may raise; raises EvaluationAborted after
        `abort`. Either way, what was computed so far is kept and stays consistent. The array is a view
        that the next computation overwrites.
        """
        position = self.common_prefix(tokens)
        if position < len(tokens) or position - 1 not in self._rows:
            position = min(position, len(tokens) - 1)
            self._truncate(position)
            while position < len(tokens):
                check()
                batch = tokens[position : position + BATCH]
                last = position + len(batch) == len(tokens)
                self._decode(batch, position, draft(tokens) if last else ())
                position += len(batch)
        pointer = llama_cpp.llama_get_logits_ith(self._context, self._rows[len(tokens) - 1])
        return np.ctypeslib.as_array(pointer, (self.vocabulary_size,))

    def abort(self) -> None:
        """Stop the evaluation that is running, from any thread, within one matrix operation."""
        self._abort_flag[0] = b"\1"

    def clear_abort(self) -> None:
        self._abort_flag[0] = b"\0"

    def forget(self) -> None:
        """Drop all that was evaluated."""
        llama_cpp.llama_memory_clear(self._memory, True)
        self.evaluated = []
        self._rows = {}

    def _decode(self, tokens: list[int], position: int, draft: Sequence[int]) -> None:
        """Evaluate one batch, with logits behind its last token and behind each token of the draft."""
        batch, count = self._batch, len(tokens)
        room = min(BATCH - count, self.context_length - position - count)
        real = [*tokens, *draft[:room]]
        rows = [*real, *([tokens[-1]] * (-len(real) % _ROWS))]
        batch.n_tokens = len(rows)
        for row, token in enumerate(rows):
            batch.token[row] = token
            batch.pos[row] = position + row
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = 0
            batch.logits[row] = count - 1 <= row < len(real)
        self._rows = {}
        threads = self._reading_threads if len(rows) >= _READING_ROWS else self._threads
        llama_cpp.llama_set_n_threads(self._context, threads, threads)
        status = llama_cpp.llama_decode(self._context, batch)
        if status != 0:
            llama_cpp.llama_memory_seq_rm(self._memory, 0, position, -1)
            if status == _ABORTED:
                raise EvaluationAborted
            raise LanguageModelError(f"llama.cpp failed on {count} tokens (status {status}): {_reason()}")
        if len(rows) > len(real):
            llama_cpp.llama_memory_seq_rm(self._memory, 0, position + len(real), -1)
        self.evaluated += real
        self._rows = {position + row: row for row in range(count - 1, len(real))}

    def _truncate(self, length: int) -> None:
        if length < len(self.evaluated):
            llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1)
            del self.evaluated[length:]

    def _install_abort(self) -> None:
        # llama.cpp asks between all matrix operations whether to go on. A Python callback would take the
        # GIL each time, thousands of times a second. `strlen` answers without: 0 for "", 1 for "\1".
        self._abort_flag = (ctypes.c_char * 2)()
        self._abort_callback = ctypes.cast(ctypes.CDLL(None).strlen, llama_cpp.ggml_abort_callback)
        llama_cpp.llama_set_abort_callback(
            self._context, self._abort_callback, ctypes.cast(self._abort_flag, ctypes.c_void_p)
        )

    # -- adapters ---------------------------------------------------------------------------------

    def set_adapter(self, path: Path | None, *, scale: float) -> None:
        """Apply a LoRA adapter, or none, to what is evaluated from now on; forgets what was.

        Raises ModelLoadError, naming the file and the reason, and then keeps the adapter it had.
        """
        adapter = None
        if path is not None:
            check_gguf(path)
            with capture_errors() as reason:
                adapter = llama_cpp.llama_adapter_lora_init(self._model, os.fsencode(path))
                if not adapter:
                    raise ModelLoadError(
                        f"adapter {path} does not load on {self.path.name}: {reason()}. "
                        "Check that it was trained for this base model"
                    )
        count = 1 if adapter else 0
        adapters = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(adapter)
        llama_cpp.llama_set_adapters_lora(self._context, adapters, count, (ctypes.c_float * 1)(scale))
        if self._adapter:
            llama_cpp.llama_adapter_lora_free(self._adapter)
        self._adapter = adapter
        self.forget()

    def close(self) -> None:
        """Free the model and its memory. The context cannot be used afterwards."""
        with self._in_use:
            if not self.closed:
                self.closed = True
                llama_cpp.llama_batch_free(self._batch)
                llama_cpp.llama_free(self._context)
                llama_cpp.llama_model_free(self._model)


def check_gguf(path: Path) -> None:
    """Raise ModelLoadError unless `path` is a file that starts like a GGUF."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelLoadError(f"{path} cannot be read: {error.strerror}. Check the path") from None
    if magic != b"GGUF":
        raise ModelLoadError(f"{path} is not a GGUF file: it starts with {magic!r} instead of b'GGUF'")


def _reason() -> str:
    return "; ".join(dict.fromkeys(_errors)) or "llama.cpp gave no reason"
