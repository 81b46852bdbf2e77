"""Who is sending: named secrets, as a bearer token or as Basic credentials."""

import base64
import binascii
import hmac
from collections.abc import Mapping

from ..ingest.errors import ConfigError
from .refusals import Reason, Refusal


def parse_tokens(text: str, variable: str) -> dict[str, str]:
    """Returns name → secret from `name=secret,name=secret`, the content of an environment variable.

    Raises ConfigError, without quoting a secret.
    """
    tokens: dict[str, str] = {}
    for number, pair in enumerate(filter(None, (part.strip() for part in text.split(","))), start=1):
        name, equals, secret = pair.partition("=")
        if not (name and equals and secret):
            raise ConfigError(f"{variable}: entry {number} is not name=secret")
        tokens[name] = secret
    return tokens


class Authenticator:
    """Checks the `authorization` of a request; without tokens everybody may send."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = {name: secret.encode() for name, secret in tokens.items()}

    def client(self, authorization: str, peer: str) -> str:
        """Returns the client's name: of its token, or its address where no tokens are asked for. Raises Refusal.

        Basic credentials are a token's name and secret: an SDK's public and secret key can stand in for them.
        """
        if not self._tokens:
            return peer
        scheme, _, credentials = authorization.partition(" ")
        name, secret = self._credentials(scheme.lower(), credentials.strip())
        # Every secret is compared, in constant time: how long it takes must not tell which names or beginnings exist.
        matches = [known for known, value in self._tokens.items() if hmac.compare_digest(value, secret)]
        allowed = [known for known in matches if name in (None, known)]
        if not allowed:
            raise Refusal(Reason.UNAUTHENTICATED, "a valid token is needed: authorization: Bearer SECRET")
        return allowed[0]

    def _credentials(self, scheme: str, credentials: str) -> tuple[str | None, bytes]:
        if scheme == "bearer":
            return None, credentials.encode()
        if scheme != "basic":
            return None, b""
        try:
            name, _, secret = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None, b""
        return name, secret.encode()
