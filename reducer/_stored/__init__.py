"""How a state is stored: what `dumps` writes and `loads` reads (docs/reference/checkpoint-format.md).

`table` is the format as data, a row per field; `shapes` says what a field may hold, `values` how JSON of any depth is
kept. `writer` and `reader` do what a row alone cannot: tell the conversation as the rows that streamed.
"""
