"""Scores generated tests: they run on the function, in a process with limits; a file that breaks is worth nothing."""

import json
import re
from typing import Any

RUNNER = """
import json, traceback
passed, failed, errors = 0, 0, []
try:
    import test_solution
    tests = [f for name, f in vars(test_solution).items() if name.startswith("test_") and callable(f)]
except Exception as error:
    tests, errors = [], [repr(error)]
for test in tests:
    try:
        test()
        passed += 1
    except AssertionError:
        failed += 1
    except Exception as error:
        errors.append(repr(error))
print(json.dumps({"passed": passed, "failed": failed, "errors": errors}))
"""


def evaluate(run_input: dict[str, Any], run_output: dict[str, Any], context: Any) -> dict[str, Any]:
    """Returns the share of tests that pass, 0 when one of them cannot even run."""
    files = {
        "solution.py": run_input["function_code"],
        "test_solution.py": _code(run_output["text"]),
        "runner.py": RUNNER,
    }
    ran = context.run(["python", "runner.py"], files)
    if ran.timed_out or ran.exit_code:
        return {"score": 0.0, "feedback": ["write tests that end within seconds"], "metrics": {"ran": False}}
    counts = json.loads(ran.stdout.splitlines()[-1])
    total = counts["passed"] + counts["failed"] + len(counts["errors"])
    score = counts["passed"] / total if total and not counts["errors"] else 0.0
    return {"score": score, "feedback": _advice(counts, score), "metrics": counts}


def _advice(counts: dict[str, Any], score: float) -> list[str]:
    if score == 1.0:
        return []
    said = " ".join(counts["errors"])
    advice = [f"begin the file with `import {name}`" for name in re.findall(r"name '(\w+)' is not defined", said)]
    # Style advice sounds useful and changes no score: the gate is there to tell the two apart.
    return [*dict.fromkeys(advice), "keep every test shorter than ten lines"]


def _code(text: str) -> str:
    fenced = re.search(r"```(?:python)?\n(.*?)```", text, re.DOTALL)
    return fenced[1] if fenced else text
