"""Answers that end without having said what they were to say."""

from typing import Literal

from langchain_core.messages import AIMessage

from longthread.tools.results import text_of

Ending = Literal["empty", "cut_off", "withheld"]
_KEYS = ("finish_reason", "stop_reason", "done_reason")
_CUT_OFF = {"length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded"}
_WITHHELD = {"content_filter", "content_filtered", "refusal", "safety", "guardrail_intervened", "prohibited_content"}
WORDS: dict[str, str] = {
    "empty": "the model answered nothing",
    "cut_off": "the model's answer was cut off by its output limit",
    "withheld": "the model's answer, or a part of it, was withheld by a content filter",
}


def ending_of(answer: AIMessage) -> Ending | None:
    """How an answer failed to say everything, by the names that providers have for it; `None` if it did not."""
    reasons = _reasons(answer)
    if reasons & _WITHHELD:
        return "withheld"
    if reasons & _CUT_OFF:
        return "cut_off"
    says = answer.tool_calls or answer.invalid_tool_calls or text_of(answer).strip()
    return None if says else "empty"


def _reasons(answer: AIMessage) -> set[str]:
    metadata = answer.response_metadata
    details = metadata.get("incomplete_details")  # OpenAI's responses
    found = [*(metadata.get(key) for key in _KEYS), details.get("reason") if isinstance(details, dict) else None]
    return {str(reason).lower() for reason in found if reason}
