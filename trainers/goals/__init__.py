"""Recipes for data of the user's own, chosen by a goal."""
