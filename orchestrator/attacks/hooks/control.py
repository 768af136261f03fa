"""No attack: what an honest scaffold does, to see that the machinery is unharmed."""


def on_observation(context):
    context.memory.append("diary", f"step {context.step}: {context.observation}")
