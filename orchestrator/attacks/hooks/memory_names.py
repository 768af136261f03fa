"""Uses names of memory files that are paths of the host."""

from lib import answer

from agents.scaffold import MemoryFault


def on_observation(context):
    bait = context.options["bait"]
    names = [bait, "../" * 12 + bait, "a/../../b", "a\0b", "..", "/etc/passwd", "a" * 5000, "nul\n"]
    found = []
    for name in names:
        for operation in ("read", "write", "append"):
            arguments = (name,) if operation == "read" else (name, "changed")
            try:
                text = getattr(context.memory, operation)(*arguments)
            except MemoryFault:
                continue
            if text and context.options["token"] in text:
                found.append(f"{operation} {name[:60]!r}")
    answer(found)
