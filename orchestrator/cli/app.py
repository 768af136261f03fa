"""``slowwave``: the commands put together, and errors turned into sentences."""

from __future__ import annotations

import contextlib
import errno
import sys
import traceback
from typing import cast

import typer

from envs.errors import EnvironmentFault
from orchestrator.cli import (
    ablate,
    bisect,
    envs,
    evaluate,
    gate,
    history,
    night,
    play,
    sandbox,
    setup,
)
from orchestrator.cli.output import aside, print_json
from orchestrator.errors import SlowwaveError

app = typer.Typer(
    name="slowwave",
    help="Improve an LLM agent's memory overnight; keep only what a fixed-seed gate proves better.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    # Locals in a traceback could show a key.
    pretty_exceptions_enable=False,
)
setup.add_commands(app)
play.add_commands(app)
evaluate.add_commands(app)
night.add_commands(app)
history.add_commands(app)
ablate.add_commands(app)
bisect.add_commands(app)
app.add_typer(gate.app, name="gate")
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(envs.app, name="envs")

# Typer carries its own copy of Click where older releases used Click itself: the family of
# its errors is found from the one that it exports.
CommandLineProblem = cast(type[Exception], typer.BadParameter.__mro__[2])

BUG = "This is a bug in slowwave. Please report it with the lines above and `slowwave doctor`."


def main() -> None:
    """Run the command line; every failure ends in a sentence and an exit status.

    Exit status: 0 done, 1 failed, 2 asked for something that cannot be done as asked, 130 stopped
    from the keyboard.
    """
    try:
        status = app(standalone_mode=False)
        code = status if isinstance(status, int) else 0
    except SlowwaveError as error:
        code = _fail(error.message, error.mend, error.exit_code)
    except EnvironmentFault as error:
        code = _fail(error.message, error.mend, 2)
    except (typer.Abort, KeyboardInterrupt):
        code = _fail("Stopped.", "Run the same command again; it goes on where it stopped.", 130)
    except CommandLineProblem as error:
        words = _words(error)
        # Without words it is the help that was shown, because nothing was asked for.
        code = _fail(words, "Add --help for what there is.", 2) if words else 2
    except BrokenPipeError:
        code = 0
    except OSError as error:
        code = _refused_by_system(error)
    except Exception:
        code = _bug()
    sys.exit(code)


def _words(problem: BaseException) -> str:
    """What is wrong with a command line, as a sentence."""
    words = str(getattr(problem, "format_message", lambda: problem)()).strip()
    return words if not words or words.endswith((".", "?", ")")) else f"{words}."


def _refused_by_system(error: OSError) -> int:
    """A full disk, a folder nobody may write to, a path that cannot be: not a bug of ours."""
    if error.errno is None:  # raised by a library in its own words, which name no file
        return _bug()
    where = error.filename2 or error.filename
    what = f"{where}: {error.strerror}" if where is not None else str(error.strerror)
    return _fail(f"The system refused: {what}.", _mend_of(error.errno), 1)


def _mend_of(number: int) -> str:
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "Free some space and run the same command again; it goes on where it stopped."
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Get the right to write there, or name another folder."
    return "Look at that path, or name another one, and run the same command again."


def _bug() -> int:
    traceback.print_exc()
    return _fail(BUG, None, 70)


def _fail(message: str, mend: str | None, code: int) -> int:
    if "--json" in sys.argv:
        with contextlib.suppress(OSError):  # what failed may be standard output itself
            print_json({"error": message, "mend": mend})
    aside.print(f"[bold red]{'Error' if code != 130 else 'Note'}:[/] ", end="")
    aside.print(f"{message} {mend or ''}".rstrip(), highlight=False, markup=False, soft_wrap=True)
    return code
