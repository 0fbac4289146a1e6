"""`python -m countveil`: the command line, without its script on the path.

Enters: the arguments. Leaves: an exit code. Must not know: any command.
"""

from countveil.cli.entry import command

if __name__ == "__main__":
    command()
