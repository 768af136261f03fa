"""The page in a real Chromium: nothing asked of anybody, no script, read by keyboard and by eye.

Screenshots go to the folder named by ``SLOWWAVE_SCREENSHOTS``, else to the test's own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from orchestrator.report.data import ReportData
from orchestrator.report.page import render
from tests.support.hostile_report import hostile

WIDE, PHONE, SMALL = (1200, 900), (390, 844), (320, 640)

CONTRAST = Path(__file__).with_name("contrast.js")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        reason = "there is no Chromium: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        # Root, as in a container, cannot have Chromium's own sandbox.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=found, args=arguments)
        yield started
        started.close()


class Opened:
    """A page with everything it said and asked for."""

    def __init__(self, browser: Browser, file: Path, size: tuple[int, int], scheme: str) -> None:
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        self.page: Page = self.context.new_page()
        self.console: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.dialogs.append(dialog.message))
        self.page.goto(file.as_uri())

    def _said(self, message: ConsoleMessage) -> None:
        self.console.append(message.text)

    def silent(self, file: Path) -> bool:
        """Whether it said nothing and asked for nothing but its own file."""
        asked = [url for url in self.requests if url not in (file.as_uri(), "data:,")]
        return not (self.console or asked or self.dialogs)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, page: str) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page, "utf-8")
    return path


def open_everything(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_page_opens_alone_and_can_be_read(
    browser: Browser, written: Path, tmp_path: Path, size: tuple[int, int], scheme: str
) -> None:
    opened = Opened(browser, written, size, scheme)
    folder = Path(os.environ.get("SLOWWAVE_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    shot = folder / f"report-{'phone' if size == PHONE else 'wide'}-{scheme}.png"
    opened.page.screenshot(path=shot, full_page=True)
    assert shot.stat().st_size > 10_000
    open_everything(opened.page)
    # WCAG AA: 4.5 to 1 for every text, code and charts included.
    assert opened.page.evaluate(CONTRAST.read_text("utf-8")) == []
    assert opened.silent(written)
    opened.context.close()


@pytest.mark.parametrize("size", [WIDE, PHONE, SMALL], ids=["wide", "phone", "small"])
def test_nothing_sticks_out_to_the_side(
    browser: Browser, written: Path, size: tuple[int, int]
) -> None:
    opened = Opened(browser, written, size, "light")
    open_everything(opened.page)
    width = opened.page.evaluate("document.documentElement.scrollWidth")
    assert width <= size[0]
    shown = "[...document.querySelectorAll('.chart svg')].filter(s => s.checkVisibility()).length"
    assert opened.page.evaluate(shown) == 2
    opened.context.close()


def _focus(page: Page, wanted: str, key: str = "Tab") -> None:
    """Press a key until what has the focus contains a text."""
    for _ in range(80):
        page.keyboard.press(key)
        if wanted in page.evaluate("document.activeElement.innerText"):
            return
    raise AssertionError(f"{key} never reaches {wanted!r}")


def test_candidates_open_and_close_by_keyboard(browser: Browser, written: Path) -> None:
    opened = Opened(browser, written, WIDE, "light")
    page = opened.page
    summary = "Warn when the agent goes round in circles\nnot kept"
    _focus(page, "Warn when the agent goes round in circles")  # the link in the table
    _focus(page, "not kept\n+2.3 points")
    third = page.locator("details.candidate").nth(2)
    assert third.get_attribute("open") is None
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert third.get_attribute("open") is not None
    assert third.locator("pre").first.is_visible()
    page.keyboard.press("Space")
    assert third.get_attribute("open") is None
    assert summary.partition("\n")[0] in third.inner_text()
    opened.context.close()


def test_a_link_to_a_closed_candidate_opens_it(browser: Browser, written: Path) -> None:
    opened = Opened(browser, written, PHONE, "light")
    _focus(opened.page, "Import a module that is not there")
    opened.page.keyboard.press("Enter")
    fourth = opened.page.locator("#candidate-4")
    fourth.wait_for(state="visible")
    assert "may not be imported" in fourth.inner_text()
    opened.context.close()


def test_what_a_model_wrote_never_runs(browser: Browser, facts: ReportData, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(render(hostile(facts)), "utf-8")
    opened = Opened(browser, path, PHONE, "light")
    open_everything(opened.page)
    assert opened.page.evaluate("typeof window.hacked") == "undefined"
    assert opened.page.evaluate("document.scripts.length + document.images.length") == 0
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert opened.silent(path)
    opened.context.close()


def test_the_page_forbids_scripts_even_if_one_got_in(
    browser: Browser, page: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.html"
    script = "<script>window.hacked = 1</script><img src=http://127.0.0.1:9/ onerror=hacked=1>"
    path.write_text(page.replace("</main>", f"{script}</main>"), "utf-8")
    opened = Opened(browser, path, WIDE, "light")
    assert opened.page.evaluate("typeof window.hacked") == "undefined"
    assert len(opened.console) >= 2  # both were refused, and Chromium says so
    opened.context.close()
