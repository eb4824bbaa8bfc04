"""Explorers: live pictures, one Python and one JavaScript file each, over a shared base."""

from prefixlm_teach.widgets.attention import AttentionExplorer
from prefixlm_teach.widgets.batch import BatchExplorer
from prefixlm_teach.widgets.cost import CostExplorer
from prefixlm_teach.widgets.decode import DecodeExplorer
from prefixlm_teach.widgets.loss import LossExplorer
from prefixlm_teach.widgets.objective import ObjectiveExplorer
from prefixlm_teach.widgets.rule import RuleExplorer
from prefixlm_teach.widgets.split import SplitExplorer
from prefixlm_teach.widgets.state import StateExplorer

__all__ = [
    "AttentionExplorer",
    "BatchExplorer",
    "CostExplorer",
    "DecodeExplorer",
    "LossExplorer",
    "ObjectiveExplorer",
    "RuleExplorer",
    "SplitExplorer",
    "StateExplorer",
]
