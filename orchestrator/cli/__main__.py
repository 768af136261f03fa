"""``python -m orchestrator.cli``: the same as ``slowwave``."""

from orchestrator.cli.app import main

if __name__ == "__main__":
    main()
