"""The worker of the tests, with two places."""
from systole_sdk import run

import tests.worker as _

if __name__ == "__main__":
    run(concurrency=2)
