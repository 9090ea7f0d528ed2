"""From a model string to a chat model, and what the graph must know about one."""

import importlib
import importlib.util
import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableBinding
from pydantic import ValidationError

from longthread.graph.deferred import DeferredChatModel
from longthread.tools.errors import ModelError, ModelNotFound
from longthread.tools.text import one_line

__all__ = [
    "DeferredChatModel",
    "context_window",
    "model_name_of",
    "provider_of",
    "resolve_model",
    "takes_cache_marks",
    "takes_images_of_users_only",
    "takes_system_anywhere",
]

CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 600.0
"""Longest silence of a server, before its first token too: a local model reads a long history for minutes."""
_NO_KEY: Final = "not-needed"
_PACKAGES: Final = {"azure_openai": "openai", "bedrock": "aws", "bedrock_converse": "aws"}
"""Providers whose package `langchain-…` is named otherwise."""
PROVIDERS: Final = re.compile(
    "anthropic(_bedrock)?|azure_(ai|openai)|baseten|bedrock(_converse)?|cohere|deepseek|fireworks|"
    "google_(anthropic_vertex|genai|vertexai)|groq|huggingface|ibm|litellm|mistralai|nvidia|ollama|openai|"
    "openrouter|perplexity|together|upstage|xai"
)
"""What LangChain takes as a provider. Other servers have colons in their names of models: `qwen3:8b`."""
_TAKE_SYSTEM: Final = {"openai", "azure", "azure_openai", "scripted"}
_OPENAI_ENVIRONMENT: Final = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def resolve_model(
    model: BaseChatModel | str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float = ANSWER_SECONDS,
    **options: Any,
) -> BaseChatModel:
    """The chat model that is meant; one that is a model already is returned as it is.

    - `"openai:NAME"`: OpenAI, or any server that speaks its chat completions: `base_url`, or else
      `OPENAI_BASE_URL`. The key is `api_key` or `OPENAI_API_KEY`; a server of one's own needs none.
      Usage is asked for while streaming, also there (`stream_usage=False` for one that refuses it).
    - any other string: what LangChain's `init_chat_model` makes of it, where `langchain` is installed.

    `timeout` is in seconds of silence; connecting gets 10. The OpenAI client itself does not retry
    (`max_retries=0`): the graph does, with `longthread.nodes.refusals.retry_policy`, and both
    would multiply. `options` go to the model's class and win over all of this; other providers
    get `base_url`, `api_key` and `options` only.

    Raises:
        ModelNotFound: the string names nothing that can be loaded.
        ModelError: the model cannot be made, for want of a key above all.
    """
    if isinstance(model, BaseChatModel):
        return model
    if not isinstance(model, str):
        raise ModelError(
            f"a model is a BaseChatModel or a string such as 'openai:gpt-5-mini', not {type(model).__name__}; "
            "settings belong in the model's class, not in .bind(...) or .with_config(...)"
        )
    provider, _, name = model.strip().partition(":")
    if provider != "openai":
        return _by_langchain(model.strip(), {"base_url": base_url, "api_key": api_key, **options})
    if not name:
        raise ModelNotFound(f"the model {model!r} has no name; write one, as in 'openai:gpt-5-mini'")
    address = base_url or next(filter(None, map(_setting, _OPENAI_ENVIRONMENT)), None)
    return _openai(name, address, api_key or _setting("OPENAI_API_KEY"), timeout, options)


def _setting(name: str) -> str | None:
    """A variable of the environment; an empty one is none."""
    return os.environ.get(name, "").strip() or None


def _openai(
    name: str, base_url: str | None, api_key: str | None, timeout: float, options: dict[str, Any]
) -> BaseChatModel:
    if not (base_url or api_key):
        raise ModelError(
            f"the model 'openai:{name}' needs OPENAI_API_KEY, which is not set; set it, or name a server of your own "
            "with --base-url (base_url=, OPENAI_BASE_URL), or run `longthread demo`, which needs no key and no network"
        )
    from langchain_openai import ChatOpenAI
    from openai import Timeout

    settings: dict[str, Any] = {
        "base_url": base_url,
        "api_key": api_key or _NO_KEY,
        "timeout": Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        "stream_chunk_timeout": timeout,
        "max_retries": 0,
        "stream_usage": True,
        # Servers of one's own have chat completions; by some names LangChain would choose the other API.
        "use_responses_api": False if base_url else None,
    }
    return _made(partial(ChatOpenAI, model=name, **(settings | options)), f"openai:{name}")


def _by_langchain(model: str, options: dict[str, Any]) -> BaseChatModel:
    if not model or importlib.util.find_spec("langchain") is None:
        raise ModelNotFound(_unknown(model))
    init_chat_model = importlib.import_module("langchain.chat_models").init_chat_model
    given = {key: value for key, value in options.items() if value is not None}
    return _made(partial(init_chat_model, model, **given), model)


def _unknown(model: str, *, known: bool = False) -> str:
    """`known`: LangChain took the provider and missed its package."""
    provider, colon, _ = model.partition(":")
    if not colon:
        return f"the model {model!r} names no provider; write 'PROVIDER:NAME', as in 'openai:{model or 'gpt-5-mini'}'"
    if not (known or PROVIDERS.fullmatch(provider)):
        return (
            f"the model {model!r} names the provider {provider!r}, which is not known; write for example "
            "'openai:gpt-5-mini' or 'anthropic:claude-sonnet-4-5', or, for a server that speaks OpenAI's API, "
            "'openai:NAME' with its base URL"
        )
    package = _PACKAGES.get(provider, provider.replace("_", "-"))
    return (
        f"the model {model!r} needs LangChain's package for {provider!r}; run `pip install langchain "
        f"langchain-{package}`, or, for a server that speaks OpenAI's API, write 'openai:NAME' with its base URL"
    )


def _made(make: Callable[[], BaseChatModel], model: str) -> BaseChatModel:
    try:
        return make()
    except ImportError as error:
        raise ModelNotFound(_unknown(model, known=True)) from error
    except Exception as error:
        if str(error).startswith(("Unable to infer model provider", "Unsupported")):
            raise ModelNotFound(f"LangChain knows no provider for the model {model!r}; {_text(error)}") from error
        raise ModelError(f"the model {model!r} cannot be made: {_text(error)}") from error


def _text(error: Exception) -> str:
    """One line of an error; of pydantic's the rules alone, since its text repeats the input, keys too."""
    if isinstance(error, ValidationError):
        return one_line("; ".join(f"{'.'.join(map(str, e['loc']))} {e['msg']}".strip() for e in error.errors()), 300)
    return one_line(str(error), 300)


def _inside(model: Any) -> Any:
    """The model inside bindings, and the real one of a deferred one once that is made."""
    while isinstance(model, RunnableBinding):
        model = model.bound
    return (model.made or model) if isinstance(model, DeferredChatModel) else model


def context_window(model: BaseChatModel) -> int | None:
    """Tokens that the model's profile names as its window; `None` where unknown (a deferred model not yet made)."""
    tokens = (_inside(model).profile or {}).get("max_input_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else None


def provider_of(model: BaseChatModel) -> str:
    """The provider as LangChain calls it: "openai", "azure", "anthropic", "google_genai", "scripted", …"""
    return str(_inside(model)._get_ls_params().get("ls_provider") or "unknown")


def model_name_of(model: BaseChatModel) -> str:
    """The provider's name for the model, else the name of its class; "unknown" for a deferred one without `named`."""
    inner = _inside(model)
    return str(inner._get_ls_params().get("ls_model_name") or type(inner).__name__)


def takes_system_anywhere(model: BaseChatModel) -> bool:
    """Whether system messages may stand in mid-history: OpenAI-compatible and scripted models only.

    Strict chat templates behind an OpenAI-compatible server do not take them; set `system_role` there.
    """
    return "BaseChatOpenAI" in _bases(model) or provider_of(model) in _TAKE_SYSTEM


def takes_images_of_users_only(model: BaseChatModel) -> bool:
    """Whether images in tool results are refused: by chat completions; OpenAI's other API takes them."""
    speaks_openai = "BaseChatOpenAI" in _bases(model) or provider_of(model) == "openai"
    return speaks_openai and getattr(_inside(model), "use_responses_api", None) is not True


def takes_cache_marks(model: BaseChatModel) -> bool:
    """Whether the prompt cache must be asked for by `cache_control`, as LangChain's package for Anthropic takes it."""
    inner = _inside(model)
    return "ChatAnthropic" in _bases(inner) or (
        isinstance(inner, DeferredChatModel) and provider_of(inner) == "anthropic"
    )


def _bases(model: BaseChatModel) -> set[str]:
    """Names of the model's class and those that it is made from; looking by name loads no provider's package."""
    return {kind.__name__ for kind in type(_inside(model)).__mro__}
