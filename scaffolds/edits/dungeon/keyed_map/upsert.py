"""A command that keeps one line per key."""

from agents.scaffold import command


@command("UPSERT", ("file", "key", "text"), "replace the line of key in file", writes=True)
def upsert(context, file, key, text):
    lines = context.memory.lines(file)
    line = f"{key} | {text}"
    for number, old in enumerate(lines):
        if old.partition(" | ")[0].lower() == key.lower():
            lines[number] = line
            break
    else:
        lines.append(line)
    context.memory.write(file, "\n".join(lines))
    return "saved"
