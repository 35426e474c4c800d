"""One module per family of events, one function per event type; `reducer._fold.CASES` says which is whose."""
