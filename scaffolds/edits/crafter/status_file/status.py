"""Vitals and inventory, kept by code."""


def on_observation(context):
    context.memory.write("status", "\n".join(context.observation.splitlines()[-2:]))
