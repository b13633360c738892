"""Steps of DBOS with its log in SQLite: workflows of a hundred steps, each an own transaction.

Arguments: a new folder, how many steps in all, how many workflows at once. Prints the seconds.
"""
import concurrent.futures
import sys
import time

from dbos import DBOS

folder, steps, at_once = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
IN_A_ROW = 100
TEXT = "x" * 512

DBOS(config={
    "name": "bench",
    "system_database_url": f"sqlite:///{folder}/dbos.sqlite",
    "run_admin_server": False,
    "log_level": "ERROR",
})


@DBOS.step()
def work(number, text):
    return text


@DBOS.workflow()
def walk():
    for number in range(IN_A_ROW):
        work(number, TEXT)


DBOS.launch()
walk()
began = time.perf_counter()
with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
    list(pool.map(lambda _: walk(), range(steps // IN_A_ROW)))
print(time.perf_counter() - began)
DBOS.destroy()
