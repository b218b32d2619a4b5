"""The folder of a run: its files, and what they record."""
