"""A look inside a log: what `trace` draws and `explain` tells.

`look` is the one module that reads what a state keeps to itself; `story` says what each event did to rows, calls and
values; `shown` follows both layouts from event to event, as changes; `page` puts all of it into one HTML page;
`explanation` finds out about one message, and `words` says it.
"""
