"""Make `chapters/references.md` from `chapters/references.bib`.

    python tools/make_references.py

pybtex reads the BibTeX and words each entry. The heading of an entry is its key: the one form whose anchor is
the same on a code host, in JupyterLab's preview and on a Sphinx site, as in `references.md#raffel2020t5`.
JupyterLab opens a linked page at its top and goes no further, so the page begins with an index.
"""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pybtex.database import Entry, Person, parse_string
from pybtex.exceptions import PybtexError
from pybtex.plugin import find_plugin
from pybtex.richtext import Text
from pybtex.style.template import FieldIsMissing

CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"
ALL_NAMED = 6  # authors; of more, the first three are named
INTRO = """\
# References

What the handbook rests on, and the public threads whose bugs it rebuilds in miniature. Find a source in these
two lists: papers and texts by their authors, threads by their project and number.

The heading of an entry is its key in `references.bib`, from which this page is made. Take that file for your
own papers: it has every author.
"""


def read_bib(text: str) -> dict[str, Entry]:
    """Return the entries of a BibTeX text by key, in the order of their keys.

    Raises:
        ValueError: a key holds anything but lower-case letters, digits and hyphens; an entry has no title, or
            authors and no year.
        pybtex.exceptions.PybtexError: the text is not BibTeX, or a key comes twice.
    """
    entries = parse_string(text, "bibtex").entries
    for key, entry in entries.items():
        if not re.fullmatch(r"[a-z0-9-]+", key):
            raise ValueError(f"the key {key!r} may hold only lower-case letters, digits and hyphens.")
        for field in ("title", "year") if entry.persons else ("title",):
            if field not in entry.fields:
                raise ValueError(f"the entry {key} lacks its {field}.")
    return {key: entries[key] for key in sorted(entries)}


def references_page(bib: str) -> str:
    """Return the Markdown of the references page for a BibTeX text; errors as in `read_bib` and `section`."""
    entries = read_bib(bib)
    threads = {key: entry for key, entry in entries.items() if is_thread(entry)}
    texts = {key: entry for key, entry in entries.items() if key not in threads}
    parts = [INTRO, f"**Papers and texts:** {index(texts)}\n", f"**Threads:** {index(threads)}\n"]
    parts += ["## Papers and texts\n", *(section(key, entry) for key, entry in texts.items())]
    parts += ["## Threads\n", *(section(key, entry) for key, entry in threads.items())]
    return "\n".join(parts)


def is_thread(entry: Entry) -> bool:
    """Tell whether an entry is an issue or a pull request on GitHub."""
    return bool(re.match(r"https://github\.com/[^/]+/[^/]+/(issues|pull)/", entry.fields.get("url", "")))


def index(entries: dict[str, Entry]) -> str:
    """Return links to the entries, in one line; where two would read alike, the key is added."""
    names = {key: label(entry) for key, entry in entries.items()}
    twice = {name for name, count in Counter(names.values()).items() if count > 1}
    return " · ".join(
        f"[{name}, {key}](#{key})" if name in twice else f"[{name}](#{key})" for key, name in names.items()
    )


def label(entry: Entry) -> str:
    """Return how a chapter cites an entry: "Raffel et al. 2020", or "pytorch 21518" for a thread."""
    if is_thread(entry):
        *_, project, _, number = entry.fields["url"].split("/")
        return f"{project} {number}"
    names = [
        " ".join(str(part) for part in (*person.rich_prelast_names, *person.rich_last_names))
        for person in entry.persons.get("author", ())
    ]
    if not names:
        return str(Text.from_latex(entry.fields["title"]))
    who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{who} {entry.fields['year']}"


def section(key: str, entry: Entry) -> str:
    """Return the heading of an entry and what pybtex says of it, as Markdown.

    Raises:
        ValueError: pybtex does not know the entry's type, or misses a field that this type needs.
    """
    authors = entry.persons.get("author", [])
    named = authors if len(authors) <= ALL_NAMED else [*authors[:3], Person("others")]
    shown = Entry(entry.type, fields=entry.fields, persons={"author": named})
    style: Any = find_plugin("pybtex.style.formatting", "unsrt")()
    backend: Any = find_plugin("pybtex.backends", "markdown")()
    if not hasattr(style, f"get_{entry.type}_template"):
        raise ValueError(f"the entry {key} is of a type that BibTeX does not have: @{entry.type}.")
    try:
        text = style.format_entry(key, shown).text.render(backend)
    except FieldIsMissing as error:
        raise ValueError(
            f"the entry {key} lacks its {error.field_name}, which an @{entry.type} has."
        ) from error
    return f"### {key}\n\n{text}\n"


if __name__ == "__main__":
    try:
        page = references_page((CHAPTERS / "references.bib").read_text(encoding="utf-8"))
    except (ValueError, PybtexError) as error:
        sys.exit(f"references.bib: {error}")
    (CHAPTERS / "references.md").write_text(page, encoding="utf-8", newline="\n")
