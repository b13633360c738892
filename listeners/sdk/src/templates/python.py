"""@NAME@: takes <@ASK@>, answers with <@ANSWER@>."""
from payloads.@MODULE@ import @ASK-CLASS@, @ANSWER-CLASS@
from systole_sdk import listener, run


@listener
def answer(request: @ASK-CLASS@) -> @ANSWER-CLASS@:
    return @ANSWER-CLASS@(text=f"You said: {request.text}")


if __name__ == "__main__":
    run()
