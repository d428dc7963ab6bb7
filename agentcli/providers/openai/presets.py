"""Servers of chat completions that need no configuration: address, key, and the command that starts a local one."""

from __future__ import annotations

from agentcli.providers.provider import Preset

PRESETS: tuple[Preset, ...] = (
    Preset("ollama", "Ollama", "http://127.0.0.1:11434/v1", start="ollama serve"),
    Preset("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", start="lms server start"),
    Preset("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", start="llama-server --jinja -m MODEL.gguf"),
    Preset("vllm", "vLLM", "http://127.0.0.1:8000/v1", start="vllm serve MODEL --enable-auto-tool-choice --tool-call-parser PARSER"),
    Preset("sglang", "SGLang", "http://127.0.0.1:30000/v1", start="python -m sglang.launch_server --model MODEL"),
    Preset("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Preset("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    Preset("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    Preset("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Preset("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
)  # fmt: skip
"""Presets by name. Each is a provider of that name; a `[providers.<name>]` table changes only the fields that it
contains.
"""
