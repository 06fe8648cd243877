"""Chat templates, applied so that text from the world can never become a control token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from prism_planner.language.model import LanguageModelError, ModelLoadError, Role

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_OPEN, _CLOSE = "\ue000", "\ue001"


class ChatFormat:
    """A model's chat template, cut at the contents of the messages.

    The template is rendered with placeholders for the contents, so that its own pieces (which spell
    control tokens) and the contents (which may be anything) are tokenised separately.
    """

    def __init__(self, template: str, *, bos_token: str = "", eos_token: str = "") -> None:
        """Raises ModelLoadError for a template that does not compile."""
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        try:
            self._template = environment.from_string(template)
        except TemplateError as error:
            raise ModelLoadError(f"the model's chat template is invalid: {error}") from None
        self._special = {"bos_token": bos_token, "eos_token": eos_token}
        self.pieces: Callable[[tuple[Role, ...]], tuple[str, ...]] = lru_cache(maxsize=256)(self._pieces)

    def _pieces(self, roles: tuple[Role, ...]) -> tuple[str, ...]:
        """The text around the contents of messages with these roles: one piece before each content and
        one behind the last, which ends where the assistant's answer starts.

        Raises LanguageModelError for a sequence of roles that the template refuses.
        """
        messages = [{"role": role, "content": f"{_OPEN}{i}{_CLOSE}"} for i, role in enumerate(roles)]
        try:
            text = self._template.render(messages=messages, add_generation_prompt=True, **self._special)
        except (TemplateError, TypeError) as error:
            raise LanguageModelError(f"the model's chat template refuses {_list(roles)}: {error}") from None
        pieces = []
        for i in range(len(roles)):
            piece, found, text = text.partition(f"{_OPEN}{i}{_CLOSE}")
            if not found:
                raise LanguageModelError(f"the model's chat template drops message {i + 1} of {_list(roles)}")
            pieces.append(piece)
        return (*pieces, text)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _list(roles: Sequence[Role]) -> str:
    return "the conversation " + ", ".join(roles)
