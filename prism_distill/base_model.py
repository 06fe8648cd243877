"""Base models for training: a GGUF or a Hugging Face model, as transformers model and tokenizer."""

from __future__ import annotations

import ctypes
import io
import os
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_distill.conversation import Tokenizer
from prism_planner.language.chat_format import CHATML, ChatFormat
from prism_planner.language.llama_context import capture_errors
from prism_planner.language.model import ModelLoadError
from prism_planner.language.registry import base_source

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class BaseModel:
    """Where a base comes from, and how it reads text. The weights are loaded by `weights`.

    name: as given. gguf: its GGUF, if it is one. path: otherwise the directory or hub id.
    """

    name: str
    form: ChatFormat
    tokenizer: Tokenizer
    gguf: Path | None = None
    path: str = ""

    def weights(self, dtype: torch.dtype) -> PreTrainedModel:
        """The model for training, dequantised. Raises ModelLoadError."""
        from transformers import AutoModelForCausalLM, GgufConfig

        try:
            # Whoever calls shows progress in their own way; transformers would draw two bars of its own.
            with redirect_stderr(io.StringIO()):
                if self.gguf is None:
                    model = AutoModelForCausalLM.from_pretrained(self.path, dtype=dtype)
                else:
                    model = AutoModelForCausalLM.from_pretrained(
                        self.gguf.parent,
                        gguf_file=self.gguf.name,
                        quantization_config=GgufConfig(dequantize=True),
                        dtype=dtype,
                    )
        except (OSError, ValueError) as error:
            raise ModelLoadError(f"{self.name}: the weights cannot be loaded: {error}") from None
        # The file's own quantisation is of no concern to what is built on the dequantised weights.
        for attribute in ("hf_quantizer", "quantization_method"):
            if hasattr(model, attribute):
                delattr(model, attribute)
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        return model


def find_base(name: str) -> BaseModel:
    """A base by its name in the model registry, a .gguf file, or a Hugging Face directory or hub id.

    Raises ModelLoadError, which says what is wrong and what to do.
    """
    file = base_source(name)
    if file is not None:
        return _from_gguf(name, file)
    return _from_hub(name)


class _GgufTokenizer:
    """llama.cpp's tokenizer: the one that reads on the robot."""

    def __init__(self, path: Path) -> None:
        import llama_cpp

        parameters = llama_cpp.llama_model_default_params()
        parameters.vocab_only = True
        with capture_errors() as reason:
            self._model = llama_cpp.llama_model_load_from_file(os.fsencode(path), parameters)
            if not self._model:
                raise ModelLoadError(f"{path}: llama.cpp cannot read its vocabulary: {reason()}")
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        self.template = self._metadata("tokenizer.chat_template")
        self.begin_text = ""
        if llama_cpp.llama_vocab_get_add_bos(self._vocabulary):
            begin = llama_cpp.llama_vocab_bos(self._vocabulary)
            self.begin_text = llama_cpp.llama_vocab_get_text(self._vocabulary, begin).decode()

    def encode(self, text: str, *, special: bool) -> list[int]:
        import llama_cpp

        data = text.encode(errors="replace")
        buffer = (llama_cpp.llama_token * (len(data) + 8))()
        count = llama_cpp.llama_tokenize(
            self._vocabulary, data, len(data), buffer, len(buffer), False, special
        )
        return list(buffer[:count])

    def _metadata(self, key: str) -> str | None:
        import llama_cpp

        buffer = ctypes.create_string_buffer(1 << 16)
        length = llama_cpp.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return buffer.value.decode() if length >= 0 else None


class _HubTokenizer:
    """A Hugging Face tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.template: str | None = tokenizer.chat_template
        self.begin_text: str = tokenizer.bos_token or ""
        if tokenizer.bos_token_id not in tokenizer("").input_ids:
            self.begin_text = ""

    def encode(self, text: str, *, special: bool) -> list[int]:
        tokens: list[int] = self._tokenizer.encode(
            text, add_special_tokens=False, split_special_tokens=not special
        )
        return tokens


def _from_gguf(name: str, file: Path) -> BaseModel:
    tokenizer = _GgufTokenizer(file)
    form = ChatFormat(tokenizer.template or CHATML, bos_token=tokenizer.begin_text)
    return BaseModel(name=name, form=form, tokenizer=tokenizer, gguf=file)


def _from_hub(name: str) -> BaseModel:
    from transformers import AutoTokenizer

    path = str(Path(name).expanduser()) if Path(name).expanduser().is_dir() else name
    try:
        tokenizer = _HubTokenizer(AutoTokenizer.from_pretrained(path))
    except (OSError, ValueError) as error:
        raise ModelLoadError(
            f"{name} is no base model in the registry, no .gguf file, and no directory or hub id that "
            f"transformers can load: {' '.join(str(error).split())[:300]}"
        ) from None
    form = ChatFormat(tokenizer.template or CHATML, bos_token=tokenizer.begin_text)
    return BaseModel(name=name, form=form, tokenizer=tokenizer, path=path)
