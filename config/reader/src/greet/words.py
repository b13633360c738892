"""The words of a greeting."""

LONGEST = 40


def greeting(name):
    """The greeting for one name, which is cut if it is too long."""
    return f"Hello, {name[:LONGEST]}!"


def farewell(name):
    """The farewell for one name."""
    return f"Goodbye, {name[:LONGEST]}."
