"""Errors as real providers word them, and as their clients raise them: the tables of `test_refusals.py`."""

import json
from typing import Any

import httpx
import httpx2
import openai
from langchain_core.exceptions import ContextOverflowError, ModelAuthenticationError, ModelTimeoutError

from longthread.nodes.answers import EndedEarly
from longthread.tools.errors import ContextRefused

REQUEST = httpx2.Request("POST", "http://localhost/v1/chat/completions")
CLIENT = openai.OpenAI(api_key="unused", base_url="http://localhost/v1")


def refused(status: int, body: Any) -> openai.APIStatusError:
    """The error that the OpenAI client itself makes of such a reply."""
    content = body if isinstance(body, str) else json.dumps(body)
    response = httpx2.Response(status, content=content.encode(), request=REQUEST)
    return CLIENT._make_status_error_from_response(response)


def said(message: str, status: int = 400, **fields: Any) -> openai.APIStatusError:
    return refused(status, {"error": {"message": message, **fields}})


def in_stream(message: str, **fields: Any) -> openai.APIError:
    """What the client raises for an error event inside a stream: it has no status."""
    return openai.APIError(message, REQUEST, body={"message": message, **fields})


class ClientError(Exception):
    """Shaped like botocore's: a code in brackets, and the reply as a dict."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(f"An error occurred ({code}) when calling the ConverseStream operation: {message}")
        error = {"Code": code, "Message": message}
        self.response = {"Error": error, "ResponseMetadata": {"HTTPStatusCode": status}}


class GoogleError(Exception):
    """Shaped like google-genai's: an int code, a status in capitals, the reply under `details`."""

    def __init__(self, code: int, status: str, message: str) -> None:
        self.code, self.status = code, status
        self.details = {"error": {"code": code, "message": message, "status": status}}
        super().__init__(f"{code} {status}. {self.details}")


def caused(outer: Exception, cause: Exception) -> Exception:
    outer.__cause__ = cause
    return outer


OVERFLOWS = {
    "langchain": ContextOverflowError("too long"),
    "openai": said(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. "
        "Please reduce the length of the messages.",
        type="invalid_request_error",
        param="messages",
        code="context_length_exceeded",
    ),
    "openai, code alone": said("Invalid request.", type="invalid_request_error", code="context_length_exceeded"),
    "openai responses": in_stream(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        type="invalid_request_error",
        code="context_length_exceeded",
        param="input",
    ),
    "openai, configured": said(
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300027 tokens."
    ),
    "openai, messages": said(
        "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with "
        "length 2049 instead.",
        code="array_above_max_length",
    ),
    "azure": said(
        "This model's maximum context length is 16384 tokens. However, you requested 17165 tokens (13069 in the "
        "messages, 4096 in the completion). Please reduce the length of the messages or completion.",
        code="context_length_exceeded",
    ),
    "anthropic": refused(
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 208656 tokens > 200000 maximum"},
        },
    ),
    "anthropic, answer included": said(
        "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or "
        "`max_tokens` and try again",
        type="invalid_request_error",
    ),
    "anthropic, bytes": said("Request exceeds the maximum size", 413, type="request_too_large"),
    "anthropic, window": said("Request size exceeds model context window", 413, type="invalid_request_error"),
    "google": GoogleError(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "google, without count": said(
        "The input token count exceeds the maximum number of tokens allowed (1048576).", code="INVALID_ARGUMENT"
    ),
    "vllm": refused(
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens "
            "(568 in the messages, 6048 in the completion). Please reduce the length of the messages or completion.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "vllm, nothing left": refused(
        400,
        {
            "object": "error",
            "message": "max_tokens must be at least 1, got -186.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "vllm 0.6": said("The prompt (total length 25938) is too long to fit into the model (context length 4096)."),
    "vllm engine": ValueError("The decoder prompt (length 17772) is longer than the maximum model length of 16384."),
    "vllm 0.10": said(
        "You passed 5000 input tokens and requested 1000 output tokens. However, the model's context length is only "
        "4096 tokens, resulting in a maximum input length of 3096 tokens. Please reduce the length of the input."
    ),
    "vllm 0.11": said(
        "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 "
        "tokens and your request has 2104 input tokens (2000 > 4096 - 2104)."
    ),
    "vllm 0.15": said(
        "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt "
        "contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the "
        "input prompt or the number of requested output tokens. (parameter=input_tokens, value=262145)"
    ),
    "vllm, in a stream": in_stream(
        "This model's maximum context length is 6048 tokens.", type="BadRequestError", code=400
    ),
    "llama.cpp": said(
        "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
        code=400,
        type="exceed_context_size_error",
    ),
    "llama.cpp of 2025": said(
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        500,
        code=500,
        type="exceed_context_size_error",
    ),
    "llama.cpp, while answering": said("Context size has been exceeded.", 500, code=500, type="server_error"),
    "llama-cpp-python": ValueError("Requested tokens (2285) exceed context window of 2048"),
    "ollama": refused(400, {"error": "prompt too long; exceeded max context length by 540451 tokens (ref: 00ad71bb)"}),
    "ollama, 500": refused(500, {"error": "the input length exceeds the context length"}),
    "lm studio": refused(
        400,
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the context length "
            "(n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length."
        },
    ),
    "lm studio 0.4": refused(400, {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}),
    "lm studio 0.3": in_stream(
        "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens, which is not enough."
    ),
    "sglang": refused(
        400,
        {
            "object": "error",
            "message": "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "sglang, with answer": said(
        "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of "
        "139264 tokens."
    ),
    "sglang, memory": said("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)."),
    "mistral": httpx.HTTPStatusError(
        "Error response 400 while fetching https://api.mistral.ai/v1/chat/completions: "
        '{"object":"error","message":"Prompt contains 40031 tokens and 0 draft tokens, too large for model with 32768 '
        'maximum context length","type":"invalid_request_prompt","code":"3051"}',
        request=httpx.Request("POST", "http://localhost"),
        response=httpx.Response(400),
    ),
    "bedrock": ClientError("ValidationException", "Input is too long for requested model.", 400),
    "bedrock, anthropic": ClientError(
        "ValidationException",
        "The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum",
        400,
    ),
    "groq": said(
        "Please reduce the length of the messages or completion.",
        type="invalid_request_error",
        param="messages",
        code="context_length_exceeded",
    ),
    "openrouter": said(
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of "
        'text input). Please reduce the length of either one, or use the "middle-out" transform.',
        code=400,
    ),
    "openrouter, status 200": ValueError(
        {"message": "This model's maximum context length is 16000 tokens. However, you requested 17165.", "code": 502}
    ),
    "litellm": said(
        "litellm.MidStreamFallbackError: OpenAIException - Requested token count exceeds the model's maximum context "
        "length of 131072 tokens.",
        503,
    ),
    "tgi": said(
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1244 `inputs` tokens and "
        "1000 `max_new_tokens`",
        422,
    ),
    "tgi, input": said("Input validation error: `inputs` must have less than 1024 tokens. Given: 1168", 422),
    "xai": said("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    "minimax": said("invalid params, context window exceeds limit (2013)"),
    "moonshot": said("Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"),
    "no body": refused(413, ""),
    "a proxy": refused(413, "<html><body><h1>413 Request Entity Too Large</h1></body></html>"),
    "wrapped": caused(RuntimeError("the model call failed"), said("prompt is too long: 2 tokens > 1 maximum")),
}

RATE_LIMITS = {
    "openai": said(
        "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 342389. "
        "The input or output tokens must be reduced in order to run successfully.",
        429,
        type="tokens",
        code="rate_limit_exceeded",
    ),
    "openai, used up": said(
        "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000, Used 8554, Requested 3082. Please try "
        "again in 9.816s.",
        429,
        code="rate_limit_exceeded",
    ),
    "groq, 413": said(
        "Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on "
        "tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.",
        413,
        type="tokens",
        code="rate_limit_exceeded",
    ),
    "groq, 413 without code": said("Request too large on tokens per minute (TPM): Limit 6000, Requested 14810.", 413),
    "azure": said(
        "Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current OpenAI S0 "
        "pricing tier. Please retry after 86400 seconds.",
        429,
        code="429",
    ),
    "anthropic": said(
        "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
        429,
        type="rate_limit_error",
    ),
    "bedrock": ClientError("ThrottlingException", "Too many tokens, please wait before trying again.", 429),
    "bedrock, in a stream": Exception("An error occurred (throttlingException): Too many tokens, please wait"),
    "google": GoogleError(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details. Please retry in 34.07s.",
    ),
    "plain text": Exception(
        "429 Too Many Requests: too many tokens, maximum context length, please wait before retrying"
    ),
    "in a stream": in_stream("slow down, the prompt is too long", type="rate_limit_error"),
}

TRANSIENT = {
    "timeout": openai.APITimeoutError(REQUEST),
    "connection": openai.APIConnectionError(request=REQUEST),
    "langchain's timeout": ModelTimeoutError("no answer"),
    "built-in timeout": TimeoutError(),
    "reset": ConnectionResetError(104, "Connection reset by peer"),
    "httpx": httpx.RemoteProtocolError(
        "peer closed connection without sending complete message body (incomplete chunked read)"
    ),
    "httpx2": httpx2.ReadError("broken"),
    "half an event": json.JSONDecodeError("Expecting value", '{"choi', 3),
    "empty stream": ValueError("No generation chunks were returned"),
    "stream without a generation": ValueError("No generations found in stream."),
    "stream that ended early": EndedEarly("the stream ended before the answer was complete"),
    "wrapped": caused(RuntimeError("the stream broke"), httpx.ReadError("")),
    "408": said("Request Timeout", 408),
    "409": said("Conflict", 409),
    "500": said("The server had an error while processing your request. Sorry about that!", 500),
    "502": refused(502, "<html>Bad Gateway</html>"),
    "503": said("Service Unavailable", 503),
    "529": said("Overloaded", 529, type="overloaded_error"),
    "in a stream": in_stream("The server had an error while processing your request.", type="server_error"),
    "overloaded in a stream": in_stream("Overloaded", type="overloaded_error"),
    "status 200": ValueError({"message": "Provider returned error", "code": 502}),
}

FINAL = {
    "quota": said("You exceeded your current quota.", 429, type="insufficient_quota", code="insufficient_quota"),
    "key": said("Incorrect API key provided: unused.", 401, code="invalid_api_key"),
    "langchain's key": ModelAuthenticationError("no"),
    "payment": said("Insufficient credits", 402),
    "forbidden": said("Country, region, or territory not supported", 403),
    "unknown model": said("The model `gpt-9` does not exist", 404, code="model_not_found"),
    "answer limit": said(
        "max_tokens: 10000 > 4096, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20240620"
    ),
    "bedrock's answer limit": ClientError(
        "ValidationException", "The maximum tokens you requested exceeds the model limit of 4096.", 400
    ),
    "history": said(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    ),
    "image": said(
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes"
    ),
    "no body": refused(400, ""),
    "not offered": said("Not Implemented", 501),
    "stream of a bad request": in_stream("Unsupported value: 'temperature'", type="invalid_request_error"),
    "address": caused(openai.APIConnectionError(request=REQUEST), httpx2.UnsupportedProtocol("no http://")),
    "a bug": KeyError("messages"),
    "our own": caused(ContextRefused("twice"), said("prompt is too long: 2 tokens > 1 maximum")),
}
