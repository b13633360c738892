"""The program: greets everyone who is named on the command line."""

import sys

from greet.words import greeting


def main(names):
    """Prints a greeting for each name."""
    for name in names:
        print(greeting(name))


if __name__ == "__main__":
    main(sys.argv[1:])
