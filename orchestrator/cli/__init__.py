"""The command line: how people reach everything.

`app` puts the commands together and turns errors into sentences; each other module holds the
commands of one subject. This is the composition root, the one place that starts flows.
"""
