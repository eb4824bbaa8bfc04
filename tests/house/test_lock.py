"""requirements.lock, pyproject.toml and environment.yml say the same, on every platform."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires

import pytest
import toc
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PLATFORMS = {
    "Linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macOS": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "Windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}

# What a platform does without. None of these brings along anything that is not listed here too.
OTHER_PLATFORMS = {"appnope", "colorama", "pexpect", "ptyprocess", "pywinpty", "win32-setctime"}


@pytest.fixture(scope="module")
def locked() -> dict[str, str]:
    """Return package name -> locked version."""
    lines = (toc.PROJECT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    assert all(len(pin) == 2 and re.fullmatch(r"[\w.]+", pin[1]) for pin in pins), pins
    assert len({canonicalize_name(name) for name, _ in pins}) == len(pins), "a package is locked twice"
    return {canonicalize_name(name): version for name, version in pins}


def asked() -> list[Requirement]:
    """Return what pyproject.toml asks for, to read, to make the book and to test."""
    project = tomllib.loads((toc.PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    return [Requirement(line) for line in project["dependencies"] + extras]


def needed(platform: str) -> Iterator[Requirement]:
    """Yield everything that gets installed on a platform, as its dependants ask for it."""
    todo, seen = asked(), set()
    while todo:
        requirement = todo.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras), str(requirement.specifier))
        if key[0] == "prefixlm-teach" or key in seen:
            continue
        seen.add(key)
        yield requirement
        try:
            lines = requires(requirement.name) or []
        except PackageNotFoundError:
            assert requirement.name in OTHER_PLATFORMS
            continue
        for child in map(Requirement, lines):
            extras = requirement.extras or {""}
            if child.marker is None or any(
                child.marker.evaluate(PLATFORMS[platform] | {"extra": extra}) for extra in extras
            ):
                todo.append(child)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_lock_holds_everything_that_is_installed_in_a_version_that_fits(
    locked: dict[str, str], platform: str
) -> None:
    wrong = []
    for requirement in needed(platform):
        version = locked.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement} is asked for, {version} is locked")
    # PyTorch's own builds for GPUs pin what they bring along exactly.
    assert [line for line in wrong if not line.startswith(("nvidia-", "cuda-", "triton"))] == []


def test_the_lock_holds_nothing_else(locked: dict[str, str]) -> None:
    names = {
        canonicalize_name(requirement.name) for platform in PLATFORMS for requirement in needed(platform)
    }
    assert locked.keys() - names == set()


def test_the_lock_is_sorted(locked: dict[str, str]) -> None:
    assert list(locked) == sorted(locked)


def test_conda_agrees(locked: dict[str, str]) -> None:
    environment = yaml.safe_load((toc.PROJECT / "environment.yml").read_text(encoding="utf-8"))
    *conda, by_pip = environment["dependencies"]
    python, torch, pip = (line.partition("=")[::2] for line in conda)
    project = tomllib.loads((toc.PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert Requirement(f"python{project['requires-python']}").specifier.contains(python[1])
    assert torch == ("pytorch-cpu", locked["torch"])
    assert pip == ("pip", "")
    assert by_pip == {"pip": ["-c requirements.lock", "-e .[read]"]}
