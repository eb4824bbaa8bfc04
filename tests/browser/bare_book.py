"""Put an explorer of a test's own on a page of the built book, which mounts it as it mounts the chapter's."""

import re
from pathlib import Path

from explorers import script_json
from playwright.sync_api import Locator, Page

from book import open_page
from prefixlm_teach.widgets.base import Explorer


def put_on_a_page(page: Page, book: Path, explorer: Explorer) -> Locator:
    """Give the first explorer of this kind in the book another state, and open its page."""
    tag = f'data-explorer="{explorer.name}">'
    source = next(
        path for path in sorted(book.glob("[0-9]*.html")) if tag in path.read_text(encoding="utf-8")
    )
    text = source.read_text(encoding="utf-8")
    before, _, rest = text.partition(tag)
    place = len(re.findall(r'data-explorer="', before))
    made = book / f"made-{explorer.name}.html"
    state = script_json(explorer.state())
    made.write_text(before + tag + state + rest[rest.index("</script>") :], encoding="utf-8")
    open_page(page, book, made.stem)
    root = page.locator(".plx-root").nth(place)
    root.wait_for()
    return root
