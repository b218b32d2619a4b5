"""Recipes: Python files whose `get_config()` returns a config."""
