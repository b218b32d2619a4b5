"""Speakers of CMU AN4."""
