"""Steps of LangGraph with its SQLite saver: threads of a hundred steps, each with a checkpoint.

Arguments: a new folder, how many steps in all, how many threads at once. Prints the seconds.
"""
import concurrent.futures
import sys
import time
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

folder, steps, at_once = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
IN_A_ROW = 100
TEXT = "x" * 512


class State(TypedDict):
    number: int
    text: str


def work(state):
    return {"number": state["number"] + 1, "text": TEXT}


graph = StateGraph(State)
graph.add_node("work", work)
graph.add_edge(START, "work")
graph.add_conditional_edges("work", lambda state: END if state["number"] >= IN_A_ROW else "work")

with SqliteSaver.from_conn_string(f"{folder}/langgraph.sqlite") as saver:
    walk = graph.compile(checkpointer=saver)

    def run(number):
        config = {"configurable": {"thread_id": str(number)}, "recursion_limit": IN_A_ROW + 5}
        # A checkpoint is on disk before the next step begins.
        walk.invoke({"number": 0, "text": ""}, config, durability="sync")

    run(-1)
    began = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        list(pool.map(run, range(steps // IN_A_ROW)))
    print(time.perf_counter() - began)
