"""Notebooks are compared strictly (`pytest --nbval`), wherever they lie."""

pytest_plugins = ["nbval_strict"]
