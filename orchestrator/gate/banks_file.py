"""The seed banks as written in a workspace, and checked each time they are read.

The file is for people and for leak checks: the seeds follow from the root seed, so a file that says
otherwise has been edited (or belongs to another root seed) and nothing is played on it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.gate.banks import SLICE_SEEDS, SeedBanks
from orchestrator.gate.errors import BanksEdited, BanksError, BanksUnreadable

_FORMAT = 1


class BankSizes(BaseModel):
    """How many seeds a night uses of each bank.

    Attributes:
        propose: Seeds whose trajectories the editor reads.
        screen: Seeds of the first look, the same all night.
        confirm: Seeds of one confirm slice.
        report: Seeds of the sealed bank.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    propose: int = Field(default=10, ge=1, le=SLICE_SEEDS)
    screen: int = Field(default=10, ge=1, le=SLICE_SEEDS)
    confirm: int = Field(default=20, ge=1, le=SLICE_SEEDS)
    report: int = Field(default=20, ge=1, le=SLICE_SEEDS)


class BanksFile(BaseModel):
    """What the workspace keeps of the banks of one environment.

    Attributes:
        format: Version of this layout.
        environment: Id with version.
        root_seed: What everything follows from.
        sizes: Seeds of each bank.
        propose: Seeds of the propose bank.
        screen: Seeds of the screen bank.
        confirm_first: Seeds of ``confirm[0]``; later slices follow from the root seed.
        report: Seeds of the report bank.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = _FORMAT
    environment: str
    root_seed: int
    sizes: BankSizes
    propose: tuple[int, ...]
    screen: tuple[int, ...]
    confirm_first: tuple[int, ...]
    report: tuple[int, ...]

    @classmethod
    def describe(cls, banks: SeedBanks, sizes: BankSizes) -> BanksFile:
        """What the file must say for these banks."""
        return cls(
            environment=banks.environment,
            root_seed=banks.root_seed,
            sizes=sizes,
            propose=banks.seeds("propose", sizes.propose),
            screen=banks.seeds("screen", sizes.screen),
            confirm_first=banks.seeds("confirm", sizes.confirm),
            report=banks.seeds("report", sizes.report),
        )


def load_banks(path: Path) -> tuple[SeedBanks, BankSizes]:
    """Read a banks file and check every seed in it against its root seed.

    Args:
        path: The file.

    Returns:
        The banks and how much of them a night uses.

    Raises:
        BanksUnreadable: The file is missing, unreadable or not a banks file.
        BanksEdited: Its seeds are not those of its root seed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BanksUnreadable(
            f"The seed banks {path} cannot be read: {error}.",
            mend="Restore the file, or remove it to have it written again from the root seed.",
        ) from error
    try:
        found = BanksFile.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"]) or "the file"
        raise BanksUnreadable(
            f"The seed banks {path} are not a banks file: {where}: {fault['msg']}.",
            mend="Restore the file, or remove it to have it written again from the root seed.",
        ) from error
    if found.format != _FORMAT:
        raise BanksUnreadable(
            f"The seed banks {path} have format {found.format}; this version reads {_FORMAT}.",
            mend="Use the version of slowwave that wrote them.",
        )
    banks = SeedBanks(found.environment, found.root_seed)
    expected = BanksFile.describe(banks, found.sizes)
    for name in ("propose", "screen", "confirm_first", "report"):
        if getattr(found, name) != getattr(expected, name):
            raise BanksEdited(
                f"The seed banks {path} were edited: {name} does not hold the seeds that root "
                f"seed {found.root_seed} gives.",
                mend="Restore the file, or remove it to have it written again; verdicts on seeds "
                "chosen by hand are worth nothing.",
            )
    return banks, found.sizes


def open_banks(
    path: Path, environment: str, root_seed: int, sizes: BankSizes
) -> tuple[SeedBanks, BankSizes]:
    """The workspace's banks: written the first time, checked every later time.

    Other sizes than the file's are taken over, since a longer bank only appends and a shorter one
    only leaves out. Another root seed is refused: it would be another experiment in the same place.

    Args:
        path: The file, one per environment.
        environment: Id with version.
        root_seed: The root seed in the configuration.
        sizes: Seeds of each bank in the configuration.

    Returns:
        The banks and their sizes.

    Raises:
        BanksError: See `load_banks`; also for a file of another root seed or environment, or a
            place that cannot be written.
    """
    banks = SeedBanks(environment, root_seed)
    if path.exists():
        found, found_sizes = load_banks(path)
        if found != banks:
            raise BanksError(
                f"The seed banks {path} are of {found.environment} with root seed "
                f"{found.root_seed}, not of {environment} with root seed {root_seed}.",
                mend="Set the root seed back, or use a new workspace for a new one.",
            )
        if found_sizes == sizes:
            return banks, sizes
    _write(path, BanksFile.describe(banks, sizes).model_dump_json(indent=2) + "\n")
    return banks, sizes


def _write(path: Path, text: str) -> None:
    # Written beside and renamed: a crash or a full disk leaves the old file as it was.
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise BanksError(
            f"The seed banks {path} cannot be written: {error.strerror or error}.",
            mend="Make room or make the folder writable; nothing was changed.",
        ) from error
