"""Text for the docstring of a file of Python that a command writes."""


def in_docstring(text: str) -> str:
    """Returns the source of a text between triple quotes.

    Paths may contain backslashes, quotes and bytes that are not UTF-8. Other
    text stays as it is.
    """
    text = text.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    # Python reads a carriage return in a file as the end of a line.
    text = text.replace("\r", r"\r").replace("\0", r"\0")
    return text.encode("utf-8", "backslashreplace").decode()
