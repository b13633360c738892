"""Takes find, answers with found."""
from systole_sdk import run

run()
