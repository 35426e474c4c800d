"""One module per family of events, one function per event type; `reducer._table.CASES` says which is whose."""
