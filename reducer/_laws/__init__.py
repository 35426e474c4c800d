"""What `reducer.laws` judges with: plain functions, no Hypothesis in them.

`judging` compares and says what differs, `said` reads off a log what its snapshot has to hold, `replays` what of a log
may come again, `lanes` puts the lanes of a log one after another.
"""
