"""In which language a prompt is written, so that a rule for it can be in the same one."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

FALLBACK = "en"
MIN_CONFIDENCE = 0.5
"""Below it the text may be in any language; models follow an English rule under a prompt of any."""


def language_of(text: str, known: Iterable[str]) -> str:
    """Returns the ISO 639-1 code of a text's language, one of `known`, or `en` when that is not clear."""
    language, confidence = _identifier(tuple(sorted(known))).classify(text)
    return str(language) if confidence >= MIN_CONFIDENCE else FALLBACK


@cache
def _identifier(known: tuple[str, ...]) -> "LanguageIdentifier":
    # Its model is 4 MB and takes half a second to load, so only `fix` does.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(known)
    return identifier
