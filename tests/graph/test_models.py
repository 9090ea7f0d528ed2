import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_openai import AzureChatOpenAI, ChatOpenAI

from longthread.graph.models import (
    DeferredChatModel,
    context_window,
    model_name_of,
    provider_of,
    resolve_model,
    takes_system_anywhere,
)
from longthread.graph.scripted import ScriptedChatModel, call, say
from longthread.tools.errors import ModelError, ModelNotFound
from openai_server import OpenAIServer

HELLO: list[BaseMessage] = [HumanMessage("hello")]
LOCAL = "http://127.0.0.1:9/v1"


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return path


class Unknown(BaseChatModel):
    """A model of another house, which does not stream."""

    model: str = "unknown-1"

    @property
    def _llm_type(self) -> str:
        return "unknown"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("in one piece"))])


class ChatAnthropic(Unknown):
    """Named as the real one, whose package is not needed to tell."""


def openai_model(**settings: Any) -> ChatOpenAI:
    model = resolve_model("openai:gpt-5-mini", **settings)
    assert isinstance(model, ChatOpenAI)
    return model


def test_a_model_is_returned_as_it_is() -> None:
    model = ScriptedChatModel(["ok"])
    assert resolve_model(model) is model


def test_an_openai_string_takes_the_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    model = openai_model()
    assert model.root_client.api_key == "from-env"
    assert model.model_name == "gpt-5-mini"
    assert (model.stream_usage, model.max_retries, model.openai_api_base) == (True, 0, None)
    assert openai_model(api_key="given").root_client.api_key == "given"


def test_a_server_of_ones_own_needs_no_key_and_reports_usage() -> None:
    model = openai_model(base_url=LOCAL)
    assert str(model.root_client.base_url) == LOCAL + "/"
    assert model.root_client.api_key == "not-needed"
    assert (model.stream_usage, model.use_responses_api) == (True, False)


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_the_base_url_of_the_environment_is_respected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, LOCAL)
    assert openai_model().openai_api_base == LOCAL
    assert openai_model(base_url="http://other/v1").openai_api_base == "http://other/v1"


def test_time_limits_and_options_of_the_caller_are_passed_on() -> None:
    model = openai_model(base_url=LOCAL, timeout=30.0, top_p=0.5, max_retries=7, stream_usage=False)
    assert (model.request_timeout.read, model.request_timeout.connect) == (30.0, 10.0)  # type: ignore[union-attr]  # httpx's
    assert (model.stream_chunk_timeout, model.top_p, model.max_retries) == (30.0, 0.5, 7)
    assert model.stream_usage is False


@pytest.mark.parametrize("key", [None, "", "  "])
def test_a_missing_key_names_the_ways_out(key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ModelError, match=r"OPENAI_API_KEY.*--base-url.*longthread demo"):
        resolve_model("openai:gpt-5-mini")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gpt-5-mini", r"'gpt-5-mini' names no provider.*'openai:gpt-5-mini'"),
        ("", r"names no provider.*'openai:gpt-5-mini'"),
        ("openai:", r"has no name.*'openai:gpt-5-mini'"),
        ("anthropic:claude", r"pip install langchain langchain-anthropic"),
        ("google_genai:gemini", r"pip install langchain langchain-google-genai"),
        ("azure_openai:gpt", r"pip install langchain langchain-openai"),
        (
            "bogus:foo",
            r"^the model 'bogus:foo' names the provider 'bogus', which is not known; write for example 'open",
        ),
    ],
)
def test_a_string_that_names_no_model_is_one_clear_line(text: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain", None)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ModelNotFound, match=says) as caught:
        resolve_model(text)
    assert "\n" not in str(caught.value)


def test_what_is_no_model_and_no_string_is_refused() -> None:
    bound = ScriptedChatModel(["ok"]).bind(stop=["x"])
    with pytest.raises(ModelError, match=r"not _ChatModelBinding.*not in \.bind"):
        resolve_model(bound)  # type: ignore[arg-type]  # the wrong type is the point


def test_options_that_the_class_refuses_are_one_clear_line_without_the_key() -> None:
    with pytest.raises(ModelError, match="cannot be made: top_p Input should be a valid number") as caught:
        resolve_model("openai:gpt-5-mini", base_url=LOCAL, api_key="secret", top_p="warm")
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


STAND_IN = """
from langchain_core.language_models import FakeListChatModel

def init_chat_model(model, **options):
    if model == "missing:m":
        raise ImportError("no module named langchain_missing")
    if model == "nobody:m":
        raise ValueError("Unsupported provider='nobody'.")
    return FakeListChatModel(responses=[f"{model} {sorted(options)}"])
"""


@pytest.fixture
def langchain_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package `langchain` with the one function that is used of it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "langchain"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "langchain").mkdir()
    (tmp_path / "langchain" / "__init__.py").write_text("")
    (tmp_path / "langchain" / "chat_models.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("langchain_installed")
def test_other_strings_go_to_langchain_where_it_is_installed() -> None:
    assert resolve_model("other:m", temperature=0).invoke("hi").content == "other:m ['temperature']"
    assert resolve_model("plain-name", base_url=LOCAL).invoke("hi").content == "plain-name ['base_url']"
    with pytest.raises(ModelNotFound, match="pip install langchain langchain-missing"):
        resolve_model("missing:m")
    with pytest.raises(ModelNotFound, match="knows no provider for the model 'nobody:m'"):
        resolve_model("nobody:m")
    with pytest.raises(ModelNotFound, match="names no provider"):
        resolve_model(" ")


def test_the_window_is_the_profiles() -> None:
    assert context_window(ScriptedChatModel([], profile={"max_input_tokens": 20_000})) == 20_000
    assert context_window(ScriptedChatModel([])) is None
    assert context_window(openai_model(base_url=LOCAL)) == 272_000
    assert context_window(resolve_model("openai:llama-of-mine", base_url=LOCAL)) is None


@pytest.mark.parametrize(
    ("model", "provider", "name", "anywhere"),
    [
        (ScriptedChatModel([], model_name="s"), "scripted", "s", True),
        (openai_model(base_url=LOCAL), "openai", "gpt-5-mini", True),
        (openai_model(base_url=LOCAL).bind_tools([read_file]), "openai", "gpt-5-mini", True),
        (AzureChatOpenAI(azure_endpoint=LOCAL, api_version="1", api_key="k", model="g"), "azure", "g", True),  # type: ignore[arg-type]  # a SecretStr
        (ChatAnthropic(), "anthropic", "unknown-1", False),
        (Unknown(), "unknown", "unknown-1", False),
        (DeferredChatModel(ChatAnthropic), "unknown", "unknown", False),
        (DeferredChatModel(Unknown, named="openai:gpt-5-mini"), "openai", "gpt-5-mini", True),
        (DeferredChatModel(Unknown, named="anthropic:claude"), "anthropic", "claude", False),
    ],
)
def test_provider_name_and_roles_are_told_apart(model: BaseChatModel, provider: str, name: str, anywhere: bool) -> None:
    assert provider_of(model) == provider
    assert model_name_of(model) == name
    assert takes_system_anywhere(model) is anywhere


def deferred(*script: Any) -> tuple[DeferredChatModel, list[ScriptedChatModel]]:
    made: list[ScriptedChatModel] = []

    def make() -> ScriptedChatModel:
        made.append(ScriptedChatModel(script, profile={"max_input_tokens": 5_000}))
        return made[-1]

    return DeferredChatModel(make), made


def test_a_deferred_model_is_made_once_at_the_first_request() -> None:
    model, made = deferred("one", say("two", call("read_file", path="a")))
    bound = model.bind_tools([read_file])
    assert (context_window(model), provider_of(bound), takes_system_anywhere(model)) == (None, "unknown", False)
    assert made == []
    assert model.invoke(HELLO).content == "one"
    assert bound.invoke(HELLO).tool_calls[0]["name"] == "read_file"
    assert (len(made), made[0].calls, context_window(model)) == (1, 2, 5_000)
    assert (provider_of(model), takes_system_anywhere(bound)) == ("scripted", True)


async def test_a_deferred_model_streams_as_the_real_one() -> None:
    model, _ = deferred("one two", "three four")
    assert [c.text for c in model.stream(HELLO) if c.text] == ["one ", "two"]
    assert [c.text async for c in model.astream(HELLO) if c.text] == ["three ", "four"]


async def test_a_deferred_model_that_does_not_stream_gives_one_piece() -> None:
    model = DeferredChatModel(Unknown)
    assert [c.text for c in model.stream(HELLO)] == ["in one piece"]
    assert [c.text async for c in model.astream(HELLO)] == ["in one piece"]
    assert (await model.ainvoke(HELLO)).content == "in one piece"


def test_a_deferred_model_that_cannot_be_made_says_why_at_each_request() -> None:
    model = DeferredChatModel(lambda: resolve_model("openai:gpt-5-mini"))
    for _ in range(2):
        with pytest.raises(ModelError, match="OPENAI_API_KEY"):
            model.invoke(HELLO)


def test_a_deferred_model_binds_tools_in_the_real_ones_form(openai_server: OpenAIServer) -> None:
    openai_server.answer("ok")
    model = DeferredChatModel(lambda: resolve_model("openai:m", base_url=openai_server.base_url))
    model.bind_tools([read_file], tool_choice="any").invoke(HELLO)
    body = openai_server.requests[0]
    assert body["tools"][0]["function"]["name"] == "read_file"
    assert body["tool_choice"] == "required"


def test_importing_the_module_loads_no_providers_package() -> None:
    code = "import sys, longthread.graph.models; print({'openai', 'langchain_openai', 'tiktoken'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
