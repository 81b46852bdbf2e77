"""Import from Langfuse, Cloud or self-hosted, by whichever read API the server has."""

from .source import LangfuseSource, open_source

__all__ = ["LangfuseSource", "open_source"]
