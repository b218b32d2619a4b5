"""What the evaluations measure: episodes, scores, damage, unknown classes."""
