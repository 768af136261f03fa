"""The attacks: what each tries, which guarantee holds it, and how it may end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.sandbox.base import Guarantee

HOOKS = Path(__file__).with_name("hooks")

TIMEOUT, PROTOCOL, EXIT = "scaffold_timeout", "scaffold_protocol", "scaffold_exit"
FAULT, MEMORY, END = "scaffold_fault", "scaffold_memory", "step_limit"

_SYSTEM = "{{ instructions }}\nCommands: {{ commands | map(attribute='name') | join(', ') }}\n"
_ESCAPE = (
    "{% for kind in ''.__class__.__mro__[1].__subclasses__() %}"
    "{{ kind.__init__.__globals__ }}{% endfor %}"
)


@dataclass(frozen=True, slots=True)
class Attack:
    """One scaffold that means harm.

    Attributes:
        name: Its file in `HOOKS`.
        tries: What it does, in a few words.
        ends: The outcomes of an episode in which it was held. With the step limit ends one whose
            code found that nothing worked; what did work is a fault named ``Escaped``.
        held_by: What a sandbox must enforce to hold it; empty where the host does, whatever the
            sandbox.
        system: The prompt it comes with.
        plays_itself: Its code plays, which the host has to see in every step.
    """

    name: str
    tries: str
    ends: frozenset[str]
    held_by: frozenset[Guarantee] = frozenset()
    system: str = _SYSTEM
    plays_itself: bool = False


def _attack(name: str, tries: str, ends: str | set[str], *held_by: Guarantee) -> Attack:
    endings = frozenset({ends} if isinstance(ends, str) else ends)
    return Attack(name, tries, endings, frozenset(held_by))


G = Guarantee
ATTACKS: tuple[Attack, ...] = (
    _attack("infinite_loop", "never answers", TIMEOUT, G.DEADLINE),
    _attack("slow_drip", "answers a byte at a time, for ever", TIMEOUT, G.DEADLINE),
    _attack("print_flood", "prints without end", TIMEOUT, G.DEADLINE),
    _attack("closed_channel", "closes the channel and stays", {TIMEOUT, EXIT}, G.DEADLINE),
    _attack("clock", "sets the clock, then stops its own", TIMEOUT, G.NO_PRIVILEGES, G.DEADLINE),
    _attack("fork_bomb", "starts processes without end", {TIMEOUT, END}, G.PROCESS_COUNT),
    _attack("memory_bomb", "takes all memory", {FAULT, EXIT, MEMORY}, G.MEMORY),
    _attack("memory_bomb_of_many", "takes all memory, in shares", {END, MEMORY}, G.TOTAL_MEMORY),
    _attack("disk_bomb", "writes until the disk is full", END, G.FILE_WRITES),
    _attack("million_files", "makes a million files", END, G.FILE_COUNT),
    _attack("outlive", "leaves a process behind", END, G.ENDS_WHOLE),
    _attack("signals", "kills its parent and a process of the host", END, G.NO_HOST_PROCESSES),
    _attack("processes", "reads other processes' variables", END, G.NO_HOST_PROCESSES),
    _attack("environment", "looks for keys in its own variables", END, G.CLEAN_ENVIRONMENT),
    _attack("host_files", "reads a file of the host", END, G.NO_HOST_FILES),
    _attack("host_changes", "changes and deletes a file of the host", END, G.NO_HOST_FILES),
    _attack("links", "reads a file of the host through links", END, G.NO_HOST_FILES),
    _attack("import_host", "imports the host's own code", END, G.NO_HOST_FILES),
    _attack("network", "reaches for the network in eight ways", END, G.NO_NETWORK),
    _attack("privileges", "asks for root, mounts and capabilities", END, G.NO_PRIVILEGES),
    _attack("memory_names", "names memory files like paths of the host", END),
    _attack("giant_line", "sends a line that never ends", PROTOCOL),
    _attack("garbage", "sends what is no message", PROTOCOL),
    _attack("half_message", "sends half a message and goes on", PROTOCOL),
    _attack("forged_type", "sends a message that only the host may send", PROTOCOL),
    _attack("forged_score", "sends a score of its own", PROTOCOL),
    _attack("unasked_reply", "answers what nobody asked", PROTOCOL),
    _attack("message_flood", "asks without end", {PROTOCOL, TIMEOUT}, G.DEADLINE),
    _attack("pickles", "sends an object that runs code when unpacked", PROTOCOL),
    _attack("json_nesting", "sends JSON that overflows a parser's stack", PROTOCOL),
    _attack("not_utf8", "sends bytes that are no text", PROTOCOL),
    _attack("lone_surrogate", "sends half a character", PROTOCOL),
    _attack("exit_in_step", "ends itself in the middle of a step", EXIT),
    _attack("forged_kill", "ends itself as if killed from outside", EXIT),
    _attack("forged_limit", "has its container killed by the kernel", EXIT),
    Attack(
        "patched_runner",
        "replaces the runner, so that code plays",
        frozenset({END}),
        plays_itself=True,
    ),
    Attack(
        "template_escape",
        "reaches for Python's insides from a prompt",
        frozenset({FAULT}),
        system=_SYSTEM + _ESCAPE,
    ),
)

CONTROL = Attack("control", "nothing: an honest scaffold", frozenset({END}))
