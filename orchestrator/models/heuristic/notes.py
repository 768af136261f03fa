"""What to write down and what to look up, in the words of the commands on offer."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.models.heuristic.prompt import Reading

NOTHING = "<|DONE|>"


def log_turn(reading: Reading) -> str:
    """The answer in LOG: note what was done and achieved, and what has come into sight."""
    if len(reading.asked.observations) < 2 or not reading.named:
        return NOTHING
    wanted = _wanted(reading)
    if not wanted:
        return NOTHING
    if reading.asked.look_first and "SEARCH" in reading.means.commands:
        if reading.turn == 0:
            return "\n".join(f"<|SEARCH|>{file}|{text}<|END|>" for file, text in wanted)
        found = _found(reading.looked)
        wanted = [(file, text) for file, text in wanted if (file, text) not in found]
    return "\n".join([*(_written(reading, file, text) for file, text in wanted), NOTHING])


def lookups(reading: Reading, wants: Iterable[str]) -> list[str]:
    """The commands that the prompt advises, ``KIND`` standing for each kind that is wanted."""
    commands: list[str] = []
    for command in reading.asked.advised:
        if "KIND" in command:
            commands += [command.replace("KIND", kind) for kind in wants]
        else:
            commands.append(command)
    return commands


def _wanted(reading: Reading) -> list[tuple[str, str]]:
    """Notes with the file each belongs to: its own file if the prompt names one, else the log."""
    asked = reading.asked
    before, after = asked.observations[-2:]
    news = asked.game.news(before, asked.last_action, after, reading.facts)
    log = reading.named_file("log")
    progress, places = reading.named_file("progress"), reading.named_file("map")
    line: list[str] = []
    wanted = []
    for file, notes in ((progress, news.achieved), (places, news.sights)):
        if file:
            wanted += [(file, note) for note in notes]
        else:
            line += notes
    if log and (line or not asked.only_new):
        wanted.append((log, "; ".join([*news.line, *line])))
    return wanted


def _written(reading: Reading, file: str, text: str) -> str:
    step = f"step {reading.asked.step}: " if reading.asked.step is not None else ""
    if "UPSERT" in reading.means.commands:
        return f"<|UPSERT|>{file}|{text}|{step}<|END|>"
    return f"<|APPEND|>{file}|{step}{text}<|END|>"


def _found(looked: str) -> set[tuple[str, str]]:
    """The searches that found something, read from their results."""
    found = set()
    blocks = looked.split("<|SEARCH|>")
    for block in blocks[1:]:
        head, _, result = block.partition("<|END|>\n")
        file, _, text = head.partition("|")
        if text.lower() in result.lower():
            found.add((file, text))
    return found
