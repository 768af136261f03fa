"""Attacks on a sandbox: scaffolds that mean harm, and what should become of them.

`catalog` lists them, `hooks/` holds their code (never imported here), `bait` is what they are
after and the host watches, `suite` plays them as whole episodes and judges. ``slowwave sandbox
check`` runs the suite on this machine's sandbox: the conformance suite of ours and anyone's own.
"""
