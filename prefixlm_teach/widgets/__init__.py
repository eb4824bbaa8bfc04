"""Explorers: live pictures, one Python and one JavaScript file each, over a shared base."""
