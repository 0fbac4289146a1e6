"""What makes and checks an installation of countveil: builds, wheelhouses, the checks of a version.

Run as modules from the project's root (`make wheelhouse`, `make release-check`), not shipped.
"""
