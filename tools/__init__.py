"""Commands for contributors; they are not installed."""
