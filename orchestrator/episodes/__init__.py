"""One game played by one revision on one seed: identity, play, record, measure, keep.

`spec` says what an episode is and derives its key; `player` plays it; `turns` serves the model
turns with every rule of the inner loop; `trajectory` records; `metrics` measures; `store` keeps
results by key, so that nothing is ever played twice.
"""
