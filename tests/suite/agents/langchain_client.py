"""LangChain with an entry of an organism as its model: client.py URL TOKEN. It prints one line of JSON for each answer."""
import asyncio
import json
import sys

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

URL, TOKEN = sys.argv[1:]
chat = ChatOpenAI(model="helper", base_url=URL, api_key=TOKEN, temperature=0.2, max_retries=2)
history = [SystemMessage("Be short."), HumanMessage("first?")]


def tell(**words):
    print(json.dumps(words), flush=True)


def go_on(answer, question):
    history.extend([AIMessage(answer), HumanMessage(question)])


def refuse(call):
    try:
        call()
    except Exception as error:
        return str(error)
    return None


first = chat.invoke(history)
tell(text=first.content, tokens=first.usage_metadata["total_tokens"], finish=first.response_metadata["finish_reason"])
go_on(first.content, "second?")
pieces = [piece.content for piece in chat.stream(history)]
tell(text="".join(pieces), pieces=len([piece for piece in pieces if piece]))
go_on("".join(pieces), "third?")


async def read():
    return "".join([piece.content async for piece in chat.astream(history)])


tell(text=asyncio.run(read()))
by_response = ChatOpenAI(model="helper", base_url=URL, api_key=TOKEN, use_responses_api=True)
fourth = by_response.invoke("fourth?")
tell(text=fourth.text, id=fourth.response_metadata["id"])
tell(text="".join(piece.text for piece in by_response.stream(
    [HumanMessage("fifth?")], previous_response_id=fourth.response_metadata["id"])))
unknown = ChatOpenAI(model="helpr", base_url=URL, api_key=TOKEN)
tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
tell(text=chat.bind_tools([tool]).invoke("sixth?").content)
forced = chat.bind_tools([tool], tool_choice="f")
tell(unknown=refuse(lambda: unknown.invoke("x")), tools=refuse(lambda: forced.invoke("x")))
