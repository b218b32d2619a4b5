"""Commands for those who change the library; they are not installed."""
