"""Steps of Restate: invocations of a hundred journaled steps, asked for over HTTP at the server's door.

As `serve PORT` it is the service. Otherwise the arguments are the address of the server's door, how many steps in
all, and how many invocations at once; then it prints the seconds.
"""
import asyncio
import concurrent.futures
import http.client
import sys
import time

IN_A_ROW = 100
TEXT = "x" * 512


def serve(port):
    import hypercorn.asyncio
    import hypercorn.config
    import restate

    walker = restate.Service("walker")

    @walker.handler()
    async def walk(ctx: restate.Context) -> str:
        for number in range(IN_A_ROW):
            await ctx.run_typed(f"work {number}", lambda: TEXT)
        return "done"

    config = hypercorn.config.Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.loglevel = "ERROR"
    asyncio.run(hypercorn.asyncio.serve(restate.app([walker]), config))


def ask(door):
    client = http.client.HTTPConnection(door, timeout=600)
    client.request("POST", "/walker/walk")
    answer = client.getresponse()
    said = answer.read()
    assert answer.status == 200, said
    client.close()


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    door, steps, at_once = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    ask(door)
    began = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda _: ask(door), range(steps // IN_A_ROW)))
    print(time.perf_counter() - began)
