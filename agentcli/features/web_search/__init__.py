"""Web search: by the provider's own tool, or by a search engine."""
