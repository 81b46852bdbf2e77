"""Which Langfuse project to talk to: the variables of Langfuse's SDK, or a profile in whyspan.toml.

[langfuse.staging]
host = "https://langfuse.example.org"
public_key_env = "STAGING_LANGFUSE_PUBLIC_KEY"
secret_key_env = "STAGING_LANGFUSE_SECRET_KEY"
"""

import os
from collections.abc import Mapping

from ...errors import ConfigError
from ...remote import Account
from ...settings import load_section, nearest

CLOUD = "https://cloud.langfuse.com"
"""Where Langfuse's SDK goes when nothing else is said."""
_PUBLIC, _SECRET = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_KEYS = ("host", "public_key_env", "secret_key_env")


def langfuse_account(profile: str = "", *, environ: Mapping[str, str] | None = None) -> Account:
    """Returns host and keys of a profile; without one, what `LANGFUSE_*` says.

    Raises ConfigError when the keys are not in the environment or the profile is not in the settings.
    """
    env = os.environ if environ is None else environ
    section = _profile(profile, env) if profile else {}
    public = section.get("public_key_env", _PUBLIC)
    secret = section.get("secret_key_env", _SECRET)
    missing = [name for name in (public, secret) if not env.get(name)]
    if missing:
        raise ConfigError(
            f"no key for Langfuse: {' and '.join(missing)} not set",
            hint="make one in the project's settings, API Keys, and export both variables",
        )
    host = section.get("host") or env.get("LANGFUSE_BASE_URL") or env.get("LANGFUSE_HOST") or CLOUD
    return Account(
        base_url=host.rstrip("/"),
        user=env[public],
        password=env[secret],
        keys_hint=f"check {public} and {secret}, and that they belong to a project at {host}",
    )


def _profile(name: str, environ: Mapping[str, str]) -> Mapping[str, str]:
    profiles = load_section("langfuse", environ=environ)
    if name not in profiles:
        raise ConfigError(f"there is no profile [langfuse.{name}] in whyspan.toml", hint=nearest(name, profiles))
    profile = profiles[name]
    if not isinstance(profile, dict):
        raise ConfigError(f"[langfuse.{name}] must be a table, not {profile!r}")
    for key, value in profile.items():
        if key not in _KEYS:
            raise ConfigError(f"[langfuse.{name}] has no key {key!r}", hint=nearest(key, _KEYS))
        if not isinstance(value, str):
            raise ConfigError(f"[langfuse.{name}] {key} must be text, not {value!r}")
    return profile
