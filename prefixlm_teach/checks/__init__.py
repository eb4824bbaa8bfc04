"""Checks of the exercises, hints and progress."""

from prefixlm_teach.checks.catalogue import check, hint, progress

__all__ = ["check", "hint", "progress"]
