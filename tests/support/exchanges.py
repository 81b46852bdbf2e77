"""Answers of players, as if a model had given them."""

from whyspan.analysis.learning.play.exchanges import Exchange
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.reply_store import StoredReply
from whyspan.ingest.calls import ModelReply


def exchange(text: str) -> Exchange:
    stored = StoredReply(sample=0, completion=Completion(reply=ModelReply(text=text)), start_ns=1, end_ns=2)
    return Exchange(provider="openai", request={"model": "m", "messages": []}, stored=stored, cached=False)
