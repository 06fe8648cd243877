"""Every worked example in the documentation runs and prints what it says."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")] if ">>> " in page.read_text("utf-8")
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_page(page: Path) -> None:
    failures, attempts = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert attempts > 0
    assert failures == 0
