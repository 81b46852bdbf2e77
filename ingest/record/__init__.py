"""In the agent's process: keeps what really went to the model, and spans for home-made loops.

Importing this is light: OpenTelemetry's API and the standard library. Client libraries are patched only when they are
there, and nothing in here ever raises into the agent.
"""

from .agent import run, tool
from .recorder import Recording, record

__all__ = ["Recording", "record", "run", "tool"]
