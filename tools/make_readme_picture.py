"""Draw the picture of the explorer that the README shows: `python tools/make_readme_picture.py`."""

from pathlib import Path

from prefixlm_teach import SplitExplorer

IMAGES = Path(__file__).resolve().parent.parent / "chapters" / "images"
TOKENS = ["What", "is", "the", "capital", "of", "France", "?", "Paris", "."]


def main() -> None:
    """Write the picture, and print the words that belong beside it."""
    picture = SplitExplorer(TOKENS, prefix_len=7).picture()
    IMAGES.mkdir(exist_ok=True)
    picture.save(IMAGES / "explorer.png")
    print(picture.alt)


if __name__ == "__main__":
    main()
