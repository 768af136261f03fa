"""The host's way to language models: one broker through which every call and every cent passes.

`config` says which model serves a role, `base` what a client is, `errors` how a call can fail,
`openai_client` speaks to any OpenAI-compatible server, `ledger` owns the spending, `journal`
remembers an interrupted episode's answers, `retry` is the one place that tries again, and
`broker` ties them together. The clients themselves are made by `clients`.
"""
