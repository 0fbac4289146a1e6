"""Publishing: from a table to a release. The publisher's side.

Enters: a table and the publisher's options. Leaves: a release; before it, inspections and advice.
Must not know: how an engine reads or writes, how groups are formed, how a draw is made.

Start at `publisher.run_publish`: prepare -> count -> form groups -> draw -> write -> commit.

    publish          the public function; `settings` checks its options
    publisher        the path from a table to a release
    prepare          the table recoded, its columns in their roles; `safety/` may stop it here
    manifest_making  what the release says about itself
    measuring        the publisher's private report: answers compared with the truth
    publications/    the private record of what was published before
    advise/          before publishing: `inspect` a table, find an ell
"""
