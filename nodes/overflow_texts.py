"""How providers word that a context is too long: codes, and sentences as their servers send them.

Sentences are kept narrow: an output limit that is set too high ("max_tokens: 10000 > 4096, which
is the maximum allowed number of output tokens") is another fault, which no compaction mends.
"""

import re
from typing import Final

OVERFLOW_CODES: Final = re.compile(
    "|".join(
        (
            r"context_length_exceeded",  # OpenAI, Azure, Groq
            r"context_window_exceeded",  # z.ai
            r"exceed_context_size",  # llama.cpp
            r"ContextWindowExceeded",  # LiteLLM
            r"ContextOverflow",
            r"request_too_large",  # Anthropic, by bytes
            r"RequestTooLarge",  # Anthropic's class
            r"array_above_max_length",  # OpenAI: more messages than it takes
        )
    ),
    re.IGNORECASE,
)
"""Looked for in an error's code and type fields and in its class names."""

OVERFLOW_TEXTS: Final = re.compile(
    "|".join(
        (
            r"context_length_exceeded|ContextWindowExceeded|exceed_context_size|request_too_large",
            r"maximum context length",  # OpenAI, vLLM, DeepSeek, OpenRouter, SGLang, Mistral, Together
            r"model's context length is only",  # vLLM 0.10 and later
            r"exceed(s|ed|ing)?\b.{0,60}\bcontext (window|size|length|limit)",  # OpenAI, Anthropic, llama.cpp, Ollama
            r"context (window|size|length|limit)( has been| was)? exceed",  # llama.cpp, MiniMax, Ollama
            r"longer than the (model's context length|maximum model length)",  # SGLang, vLLM
            r"too long to fit into the model",  # vLLM
            r"prompt \(?.{0,40}\)? ?is too long|(prompt|input)( is)? too long",  # Anthropic, vLLM, Bedrock, Ollama
            r"max_tokens must be at least 1, got -",  # vLLM up to 0.8: nothing is left for the answer
            r"input token count.{0,40}exceeds the maximum",  # Google
            r"input tokens exceed the configured limit",  # OpenAI
            r"input exceeds the max input token limit|too many input tokens",  # Bedrock
            r"maximum prompt length is \d+",  # xAI
            r"reduce the length of the (messages|input|prompt)",  # Groq, vLLM
            r"input length .{0,30}exceeds the maximum allowed length",  # SGLang
            r"n_keep.{0,20}>=.{0,10}n_ctx|tokens to keep from the initial prompt is greater",  # LM Studio
            r"tokens when context the overflows",  # LM Studio up to 0.3
            r"`?inputs`? tokens \+ `?max_new_tokens`? must be|`?inputs`? must have less than \d+ tokens",  # TGI
            r"(prompt|input) token count.{0,30}exceeds the limit",  # GitHub Copilot
            r"exceeded model token limit",  # Moonshot
            r"tokens in request more than max tokens",  # z.ai
            r"range of input length should be",  # Qwen
            r"total (number of )?tokens.{0,40}(cannot exceed|exceeds the model's max)",  # Cohere
            r"'messages': array too long",  # OpenAI
        )
    ),
    re.IGNORECASE | re.DOTALL,
)
"""Looked for in an error's text and body."""
