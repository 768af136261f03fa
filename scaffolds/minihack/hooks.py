"""Code of the MiniHack scaffold: a list of parts, each a module beside this one.

A part may have any of the hooks below; they run in the order of the list.
"""

PARTS: list = [
    # parts end here
]


def _run(name, context):
    for part in PARTS:
        hook = getattr(part, name, None)
        if hook is not None:
            hook(context)


def on_start(context):
    _run("on_start", context)


def on_observation(context):
    _run("on_observation", context)


def after_log(context):
    _run("after_log", context)
