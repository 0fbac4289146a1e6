"""Play: how countveil works, on made-up people, for newcomers and teachers.

Enters: small numbers from a link, a seed among them. Leaves: pages whose every figure is drawn or
computed by the package's own channel, groups, mechanism and estimators. Must not know: files,
releases, sessions; nothing is kept, so the same link shows the same page to everybody.
"""
