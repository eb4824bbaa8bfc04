"""Explorers: live pictures, one Python and one JavaScript file each, over a shared base."""

from prefixlm_teach.widgets.rule import RuleExplorer
from prefixlm_teach.widgets.split import SplitExplorer

__all__ = ["RuleExplorer", "SplitExplorer"]
