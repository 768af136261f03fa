"""MiniHack's tasks as text: `minihack/<task>-v1`.

`tasks` lists them with their goals, `environment` plays any of them with what `envs.nethack` has,
`boxoban` keeps the level set that two of them need and that does not come with the package.
"""
