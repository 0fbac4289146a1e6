"""Long work in processes of its own, which a page can follow and stop."""

from countveil.web.jobs.job import Job, Jobs

__all__ = ["Job", "Jobs"]
