"""Jobs at size: 500 decisions by 40 replies against the ideal.

python tests/benchmarks/jobs/run.py job              500 decisions, 40 replies of 20 ms each, 64 at once
python tests/benchmarks/jobs/run.py fill STORE N     fills a store with N weeks of τ-bench (3,818 spans each)
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from tau_bench import write_weeks

DECISIONS, SAMPLES, DELAY_S, CONCURRENCY = 500, 40, 0.02, 64
MODEL = f"""import asyncio, atexit, time
from pathlib import Path
ANSWERED = []
async def model(request):
    ANSWERED.append(time.time())
    await asyncio.sleep({DELAY_S})
    return "ok"
atexit.register(lambda: Path("{{}}").write_text(str(ANSWERED[-1] - ANSWERED[0] + {DELAY_S})))
"""
"""It writes down how long it was busy, from the first question to the last answer."""
SETTINGS = f'''[jobs.bench]
select = """
SELECT trace_id, span_id, 'no-tool' AS event FROM decisions WHERE len(tool_names) > 0 ORDER BY started, span_id"""
do = ["odds"]
samples = {SAMPLES}
limit = {DECISIONS}
budget = {DECISIONS * SAMPLES}
concurrency = {CONCURRENCY}
model_fn = "model.py:model"
'''


def measure_job() -> None:
    """Prints the time of a job against the time that its replies alone would take."""
    with tempfile.TemporaryDirectory() as folder:
        write_weeks(Path(folder) / ".whyspan", 1)
        busy = Path(folder) / "busy"
        (Path(folder) / "model.py").write_text(MODEL.format(busy))
        (Path(folder) / "whyspan.toml").write_text(SETTINGS)
        wall, cpu, out = _timed(["jobs", "run", "bench"], cwd=folder)
        work = float(busy.read_text())
    ideal = DECISIONS * SAMPLES * DELAY_S / CONCURRENCY
    _say(out.splitlines()[0])
    _say(
        f"CPU {cpu:.1f} s, ideal {ideal:.2f} s; first question to last answer {work:.1f} s: {work / ideal:.2f}x; "
        f"the whole command {wall:.1f} s: {wall / ideal:.2f}x (load {os.getloadavg()[0]:.1f})"
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _timed(words: list[str], cwd: str) -> tuple[float, float, str]:
    before, start = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "whyspan", *words], cwd=cwd, capture_output=True, text=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, cpu, done.stdout or done.stderr


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["job"]:
            measure_job()
        case ["fill", store, weeks]:
            _say(f"{write_weeks(Path(store), int(weeks))} runs")
        case _:
            sys.exit(__doc__)
