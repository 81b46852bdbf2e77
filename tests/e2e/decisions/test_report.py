"""`whyspan report`: pages that stand alone, whatever the trace says, and work in a real browser."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whyspan.ingest.spans import Resource, Span, SpanId, StatusCode, TraceId
from whyspan.ingest.store import Store

Whyspan = Callable[..., tuple[int, str, str]]
EVENT = "tool:forward_email"
EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>"
T0 = 1_790_000_000_000_000_000
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


@pytest.fixture
def explained(whyspan: Whyspan, path: Path) -> str:
    """Gives a run with a cause and a fix."""
    query = "SELECT trace_id FROM decisions WHERE list_contains(tool_names, 'forward_email') ORDER BY started LIMIT 1"
    with Store.open(path) as store, store.connect() as db:
        (found,) = db.execute(query).fetchall()
    assert whyspan("fix", found[0], EVENT, "--model-fn", "model.py:model", "--budget", "900")[0] == 0
    return str(found[0])


def _page(whyspan: Whyspan, reference: str) -> str:
    code, _, err = whyspan("report", reference, "--html", "page.html")
    assert code == 0, err
    return Path("page.html").read_text("utf-8")


def test_a_run_is_shown_with_its_cause_heat_map_rates_fixes_and_commands(whyspan: Whyspan, explained: str) -> None:
    page = _page(whyspan, explained)
    assert re.search(r'<mark class="piece cause"[^>]*>[^<]*forward the Brightwell invoice', page)
    assert re.search(r'class="piece h\d" title="belief 0\.\d\d"', page)
    assert "Fix that holds" in page
    assert re.search(r"<td>forward_email in run \w+</td>|<td>this run, span \w+</td>", page)
    assert re.search(r"<td>\d+ of \d+ \[0\.\d\d, \d\.\d\d\]</td>", page)
    assert f"whyspan --store .whyspan why --select &#34;SELECT &#39;{explained}&#39; AS trace_id" in page
    assert 'class="waterfall"' in page


def test_the_command_on_the_page_reproduces_the_claim_for_free(whyspan: Whyspan, explained: str) -> None:
    page = _page(whyspan, explained)
    command = re.search(r"whyspan --store \.whyspan why --select &#34;(.*?)&#34; --depth 0", page)
    assert command
    query = command[1].replace("&#39;", "'")
    code, out, _ = whyspan("why", "--select", query, "--depth", "0", "--model-fn", "model.py:model", "--json")
    (report,) = json.loads(out)["reports"]
    assert (code, report["paid"]) == (0, 0)
    assert report["headline"] in page


def test_a_claim_and_a_job_have_pages(whyspan: Whyspan, explained: str, path: Path) -> None:
    with Store.open(path) as store, store.connect() as db:
        (claim,) = db.execute("SELECT claim_id FROM claims WHERE kind = 'cause' LIMIT 1").fetchall()
    assert "What it had read" in _page(whyspan, claim[0][:12])
    Path("whyspan.toml").write_text(
        f"[jobs.nightly]\nselect = \"trace_id = '{explained}' AND list_contains(tool_names, 'forward_email')\"\n"
        'model_fn = "model.py:model"\n'
    )
    whyspan("jobs", "run", "nightly")
    page = _page(whyspan, "nightly")
    assert "Job nightly" in page
    assert "forward the Brightwell invoice" in page


def test_pages_need_no_network_and_run_no_script(whyspan: Whyspan, explained: str) -> None:
    page = _page(whyspan, explained)
    assert "<script" not in page
    assert not re.search(r'(src|href)="(?!#)', page)
    assert "url(" not in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def _hostile(pieces: int = 3) -> list[Span]:
    """Returns a run in which every text is markup."""
    heard = [
        {"role": "system", "parts": [{"type": "text", "content": " ".join(f"{EVIL} no {n}." for n in range(pieces))}]}
    ]
    said: list[dict[str, Any]] = [
        {"role": "assistant", "parts": [{"type": "tool_call", "name": EVIL, "arguments": {EVIL: EVIL}}]}
    ]
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": EVIL, "gen_ai.provider.name": EVIL,
        "gen_ai.input.messages": json.dumps(heard), "gen_ai.output.messages": json.dumps(said),
    }  # fmt: skip
    span = Span(
        trace_id=TraceId("e" * 32), span_id=SpanId("e" * 16), name=EVIL, start_ns=T0, end_ns=T0 + 10**9,
        attributes=attributes, status_code=StatusCode.ERROR, status_message=EVIL,
        resource=Resource(attributes={"service.name": EVIL, "service.version": EVIL}),
    )  # fmt: skip
    return [span]


def _claimed(path: Path, pieces: int = 3) -> str:
    """Writes the hostile run, and a claim about it whose every text is markup; returns the run."""
    from whyspan.analysis.attribution.problem import Tally
    from whyspan.analysis.claims import Claim, Verdict
    from whyspan.analysis.questions import freeze_decision
    from whyspan.analysis.records import claim_span
    from whyspan.analysis.selection import Decision
    from whyspan.ingest.rebuild import rebuild_calls

    spans = _hostile(pieces)
    decision = Decision(trace_id=spans[0].trace_id, span_id=spans[0].span_id, event="no-tool")
    case = freeze_decision(rebuild_calls(spans, []), decision)
    right = {"right": 1, "draws": 2}
    claim = Claim(
        case=case, kind="cause", verdict=Verdict.SUPPORTED, detail="pushes", subject=f"{EVIL} no 1.",
        intervention_id="0" * 64, base=Tally(target=9, other=1), changed=Tally(target=0, other=10),
        interval=(-1.0, -0.5), e_value=100.0, alpha=0.05, calls=20, model=EVIL, chain_end=EVIL,
        guards={"cases": [{"reason": EVIL, "target": EVIL, "base": right, "changed": right}]},
    )  # fmt: skip
    with Store.open(path) as store:
        store.write([*spans, claim_span(claim, time_ns=T0)])
    return str(spans[0].trace_id)


def test_markup_in_any_field_stays_text(whyspan: Whyspan, path: Path) -> None:
    page = _page(whyspan, _claimed(path))
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;") >= 8


@needs_browser
def test_two_thousand_segments_are_drawn_by_a_real_browser(whyspan: Whyspan, path: Path, tmp_path: Path) -> None:
    _page(whyspan, _claimed(path, pieces=2000))
    dom = _browse("--dump-dom")
    assert dom.count('class="piece') >= 2000
    assert "alert(1)&gt;" in dom
    _browse(f"--screenshot={tmp_path / 'page.png'}", "--window-size=1200,3000")
    assert (tmp_path / "page.png").stat().st_size > 20_000


@needs_browser
def test_a_narrow_window_does_not_scroll_sideways(whyspan: Whyspan, explained: str) -> None:
    page = _page(whyspan, explained)
    Path("page.html").write_text(
        page.replace("default-src 'none'", "default-src 'unsafe-inline'").replace(
            "</body>", "<script>document.title = 'wide ' + (document.documentElement.scrollWidth > innerWidth)</script>"
        )
    )
    assert "<title>wide false</title>" in _browse("--dump-dom", "--window-size=500,900")


def _browse(*words: str) -> str:
    url = Path("page.html").resolve().as_uri()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    done = subprocess.run(
        [str(CHROMIUM), *options, *words, url], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout
