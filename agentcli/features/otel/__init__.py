"""OpenTelemetry: traces and metrics of sessions by the GenAI conventions, for the extra `otel` and only if `AGENTCLI_OTEL` asks for them."""
