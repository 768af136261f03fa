"""Keeps the last observations and the actions in between."""


def on_observation(context):
    past = context.state.setdefault("past", [])
    if context.previous_action:
        past.append((context.previous_observation, context.previous_action))
    kept = int(context.options["window"]) - 1  # the present one is shown by the prompt itself
    del past[: max(0, len(past) - kept)]
    context.notes["past"] = "\n\n".join(
        f"Observation:\n{observation}\nAction: {action}" for observation, action in past
    )
