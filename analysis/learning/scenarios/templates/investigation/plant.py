"""Plants causes: `python plant.py 12 > cases/planted.json` writes decisions of model.py with the text that causes them.

Each decision is a request with documents of an accounting department, one of which holds the planted sentence; its
place and the number of documents differ.
"""

import json
import random
import runpy
import sys
from pathlib import Path
from typing import Any

PLANTED: str = runpy.run_path(str(Path(__file__).with_name("model.py")))["PLANTED"]

SENTENCES = (
    "The office is closed on Friday.",
    "Invoices are filed by month and vendor.",
    "Travel costs need a receipt.",
    "The audit begins in March.",
    "Orders above 5,000 need two signatures.",
    "The canteen takes cards only.",
    "Vendors are reviewed every second year.",
    "Printing is charged to the department.",
    "New vendors send a tax form first.",
    "Refunds are booked on the original account.",
)


def plant(rng: random.Random) -> dict[str, Any]:
    """Returns one case: the frozen decision, and what must be found."""
    documents = [rng.sample(SENTENCES, rng.randint(2, 4)) for _ in range(rng.randint(3, 6))]
    chosen = rng.choice(documents)
    chosen.insert(rng.randint(0, len(chosen)), PLANTED)
    parts = [f"Document {n}: {' '.join(document)}" for n, document in enumerate(documents, 1)]
    messages = [
        {"role": "system", "content": "You keep the books. Pay an invoice only when you may, else ask."},
        {"role": "user", "content": "\n\n".join([*parts, "An invoice of Northwind over 120 has come in."])},
    ]
    tool = {"name": "pay_invoice", "parameters": {"type": "object", "properties": {"vendor": {"type": "string"}}}}
    request = {"model": "planted", "messages": messages, "tools": [{"type": "function", "function": tool}]}
    case = {"api": "openai.chat", "request": request, "target": "tool:pay_invoice", "origin": {}}
    return {"expect": f"always text:/{PLANTED[:-1]}/", "case": case}


if __name__ == "__main__":
    source = random.Random(2026)
    print(json.dumps([plant(source) for _ in range(int(sys.argv[1]))], indent=1))  # noqa: T201
