"""The command line: one module a subcommand, each with its `COMMAND`; `reducer.__main__` lists them.

`command` is what all of them are made of; `source` opens a log as bytes, `read` finds the events in it, `output`
prints.
"""
