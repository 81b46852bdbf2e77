"""The providers' own endpoints: where a call recorded from a provider may be sent without further configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ...ingest.calls import Api

CHAT = (Api.OPENAI_CHAT,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One provider's own endpoint."""

    names: tuple[str, ...]
    """Its names in `gen_ai.provider.name` and older attributes."""
    apis: tuple[Api, ...]
    url: str
    """May hold `{region}`."""
    keys: tuple[str, ...] = ()
    """Variables that may hold the key; the first that is set counts. None of them: the endpoint needs no key."""
    key_header: str = "authorization"
    url_variable: str = ""
    """The variable by which the provider's own client is pointed elsewhere."""

    @property
    def host(self) -> str:
        """The host name; a `{region}` in it stands for any."""
        return urlsplit(self.url).hostname or ""

    def moved_to(self, value: str) -> str:
        """Returns the URL that the variable's value means; a host alone has the usual scheme and port."""
        if "//" in value:
            return value
        own = urlsplit(self.url)
        port = "" if urlsplit(f"//{value}").port or not own.port else f":{own.port}"
        return f"{own.scheme}://{value}{port}"

    def key(self, environ: Mapping[str, str]) -> str:
        """Returns the key from the environment, or an empty string."""
        return next((environ[name] for name in self.keys if environ.get(name)), "")

    def owns(self, url: str) -> bool:
        """Whether a URL, with or without scheme, is at this provider's host."""
        host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
        lead, _, tail = self.host.partition("{region}")
        return host.startswith(lead) and host.endswith(tail) if tail else host == self.host


VENDORS = (
    Vendor(
        names=("openai",), apis=(Api.OPENAI_CHAT, Api.OPENAI_RESPONSES), url="https://api.openai.com/v1",
        keys=("OPENAI_API_KEY",), url_variable="OPENAI_BASE_URL",
    ),
    Vendor(
        names=("anthropic",), apis=(Api.ANTHROPIC_MESSAGES,), url="https://api.anthropic.com",
        keys=("ANTHROPIC_API_KEY",), key_header="x-api-key", url_variable="ANTHROPIC_BASE_URL",
    ),
    Vendor(
        names=("gcp.gemini", "gemini", "google", "google_genai", "gcp.gen_ai"), apis=(Api.GEMINI_GENERATE,),
        url="https://generativelanguage.googleapis.com/v1beta", keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        key_header="x-goog-api-key",
    ),
    Vendor(
        names=("aws.bedrock", "aws_bedrock", "bedrock", "aws"), apis=(Api.BEDROCK_CONVERSE,),
        url="https://bedrock-runtime.{region}.amazonaws.com", keys=("AWS_BEARER_TOKEN_BEDROCK",),
        url_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    ),
    Vendor(
        names=("ollama",), apis=(Api.OLLAMA_CHAT,), url="http://127.0.0.1:11434", url_variable="OLLAMA_HOST",
    ),
    Vendor(names=("groq",), apis=CHAT, url="https://api.groq.com/openai/v1", keys=("GROQ_API_KEY",)),
    Vendor(
        names=("mistral_ai", "mistralai", "mistral"), apis=CHAT, url="https://api.mistral.ai/v1",
        keys=("MISTRAL_API_KEY",),
    ),
    Vendor(names=("deepseek",), apis=CHAT, url="https://api.deepseek.com/v1", keys=("DEEPSEEK_API_KEY",)),
    Vendor(names=("x_ai", "xai"), apis=CHAT, url="https://api.x.ai/v1", keys=("XAI_API_KEY",)),
    Vendor(names=("openrouter",), apis=CHAT, url="https://openrouter.ai/api/v1", keys=("OPENROUTER_API_KEY",)),
)  # fmt: skip


def vendor_of(api: Api, provider: str, base_url: str) -> Vendor | None:
    """Returns the provider that a call was sent to, as far as the recording tells; None when it was another host.

    A recorded URL decides. Without one the recorded provider name does, and without that the API itself, as long as
    only its inventor speaks it: chat completions are spoken by everybody.
    """
    candidates = [v for v in VENDORS if api in v.apis]
    if base_url:
        return next((v for v in candidates if v.owns(base_url)), None)
    if provider:
        return next((v for v in candidates if provider.lower() in v.names), None)
    return candidates[0] if candidates and (len(candidates) == 1 or api is Api.OPENAI_RESPONSES) else None
