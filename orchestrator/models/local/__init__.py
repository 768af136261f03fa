"""The provider ``local``: weights on this machine, served on it, spoken to as any other server.

`weights` finds a model's files and hashes them; `launch` finds the server that is already there or
starts one; `server` is what runs in that process (``transformers serve`` with a guard around it);
`folder` makes the folder it serves; `client` is the OpenAI client pointed at it.
"""
