"""CMU AN4: utterances of 84 speakers."""
