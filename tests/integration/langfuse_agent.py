"""An agent traced by Langfuse's own SDK; run by the Python of an environment that has it. Prints the trace id."""

import sys

from langfuse import get_client, observe
from langfuse.openai import openai


@observe(as_type="tool")
def get_weather(city: str) -> str:
    """A tool."""
    return f"sunny in {city}"


@observe()
def agent(model_url: str) -> str:
    """Asks once, with a tool that it has called before."""
    client = openai.OpenAI(base_url=model_url, api_key="unused")
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    client.chat.completions.create(
        model="standin-refund",
        temperature=0.5,
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Paris?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": get_weather("Paris")},
        ],
        tools=[{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}],
    )
    return get_client().get_current_trace_id() or ""


if __name__ == "__main__":
    sys.stdout.write(agent(sys.argv[1]) + "\n")
    get_client().flush()
