"""How `reducer.strategies` turns what Hypothesis draws into streams: plain functions, no Hypothesis in them.

A stream is built in three steps, each a module of its own. *Recipes* are what is drawn: small flat records whose
fields are numbers, so that a smaller draw is a simpler stream. *Lanes* lay recipes out as events with waiting
times between them. *Runs* merge lanes by clock and put the boundaries of runs around them.

Some events depend on what came before them in the merged stream: a snapshot restates messages, a bare chunk needs
an open chunk stream. Those are made at the moment of merging, from `held`, a consumer just good enough to ask.
"""
