"""Make what a class needs of the exercises, in `classroom/build/`: a course for nbgrader, and two zips.

    python tools/build_classroom.py

One zip is for students and one for teachers, for classes without nbgrader. Everything that students get is
searched for solutions before it is laid anywhere: at a find nothing is made. With PREFIXLM_BOOK_URL set, the
pages link to the published book; with PREFIXLM_PACKAGE set to anything that pip can install, those of the
zips take the package from there.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import exercises
import toc
from check_pairs import pair_complaints
from classroom_course import lay, make_course
from classroom_zips import FOR_STUDENTS, make_zips
from find_solutions import search
from solution_traces import traces

OUT = toc.PROJECT / "classroom" / "build"


def build(pages: list[Path], out: Path = OUT) -> list[str]:
    """Make the course and the zips of some pages of solutions in the folder `out`; return what is to be said.

    Raises:
        ValueError: nbgrader refused an assignment, or students would get a solution.
        CalledProcessError: the package can't be packed.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        course, zips = Path(scratch) / "course", Path(scratch) / "zips"
        make_course(pages, course, out / "course" / "gradebook.db")
        make_zips(pages, zips)
        secret = traces()
        if found := [*search(course / "release", secret), *search(zips / FOR_STUDENTS, secret)]:
            raise ValueError("\n".join(["Students would get solutions:", *found]))
        said = lay(course, out / "course")
        for path in zips.iterdir():
            path.replace(out / path.name)
    return said


def main() -> int:
    """Make everything and say where it is; return the exit status."""
    try:
        pages = exercises.solution_pages()
        if wrong := [complaint for page in pages for complaint in pair_complaints(page)]:
            raise ValueError("\n".join(wrong))
        said = build(pages)
    except (ValueError, subprocess.CalledProcessError) as error:
        print(f"{error}\nNothing was made.", file=sys.stderr)
        return 1
    for line in said:
        print(line)
    print(f"{(OUT / 'course').relative_to(toc.PROJECT)}: a course for nbgrader, {len(pages)} assignments")
    for path in sorted(OUT.glob("*.zip")):
        print(f"{path.relative_to(toc.PROJECT)}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
