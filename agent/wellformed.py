"""Text that every encoder and every database takes (F40); pure."""


def well_formed(text: str) -> str:
    """The text without NUL and lone surrogates, which neither UTF-8 nor every database takes."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
