"""Files that are written whole or not at all, whoever reads, writes or dies meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prefixlm_teach import files
from prefixlm_teach.files import written_whole

# Writes half of the new text, says so, and waits until it is told to go on. It takes the module by its path,
# so that no process has to import torch.
WRITER = """
import runpy
import sys
from pathlib import Path

path, letter = Path(sys.argv[1]), sys.argv[2]
written_whole = runpy.run_path(sys.argv[3])["written_whole"]
with written_whole(path) as part, part.open("w") as file:
    file.write(letter * 50_000)
    file.flush()
    print("half", flush=True)
    sys.stdin.readline()
    file.write(letter * 50_000)
"""


def writer(path: Path, letter: str) -> subprocess.Popen[str]:
    """Start a process that has written half of its file, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), letter, files.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "half\n"
    return process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "états.pt"
    path.write_text("old", encoding="utf-8")
    return path


def test_a_reader_finds_the_old_file_until_the_new_one_is_whole(path: Path) -> None:
    with written_whole(path) as part:
        part.write_text("ne", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == "old"
        part.write_text("new", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == "old"
    assert path.read_text(encoding="utf-8") == "new"
    assert list(path.parent.iterdir()) == [path]


def test_whoever_has_the_old_file_open_reads_it_to_its_end(path: Path) -> None:
    """The new one takes its place; it is not written over it."""
    with path.open(encoding="utf-8") as reader:
        with written_whole(path) as part:
            part.write_text("new", encoding="utf-8")
        assert reader.read() == "old"


def test_a_file_that_was_not_there_is_not_there_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new.pt"
    with written_whole(path) as part:
        part.write_bytes(b"half")
        assert not path.exists()
    assert path.read_bytes() == b"half"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_while_writing_leaves_the_old_file_and_nothing_beside_it(
    path: Path, error: type[BaseException]
) -> None:
    def interrupted() -> None:
        with written_whole(path) as part:
            part.write_text("half", encoding="utf-8")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_text(encoding="utf-8") == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_block_that_writes_nothing_is_an_error_and_leaves_the_old_file(path: Path) -> None:
    with pytest.raises(FileNotFoundError), written_whole(path):
        pass
    assert path.read_text(encoding="utf-8") == "old"


def test_a_process_that_is_killed_while_it_writes_leaves_the_old_file(path: Path) -> None:
    process = writer(path, "n")
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert path.read_text(encoding="utf-8") == "old"


def test_what_a_killed_process_left_beside_it_does_not_hinder_the_next_one(path: Path) -> None:
    process = writer(path, "n")
    process.kill()
    process.wait()
    (left,) = set(path.parent.iterdir()) - {path}
    assert 0 < left.stat().st_size < 100_000
    process = writer(path, "m")
    process.communicate("\n")
    assert path.read_text(encoding="utf-8") == "m" * 100_000


def test_of_two_processes_that_write_at_once_one_wins_and_nothing_is_mixed(path: Path) -> None:
    first, second = writer(path, "1"), writer(path, "2")
    second.communicate("\n")
    assert path.read_text(encoding="utf-8") == "2" * 100_000
    first.communicate("\n")
    assert path.read_text(encoding="utf-8") == "1" * 100_000
    assert (first.returncode, second.returncode) == (0, 0)
    assert list(path.parent.iterdir()) == [path]
