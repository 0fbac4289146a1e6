"""The analyst's path, from a release to estimates.

    open -> parse the question -> tally the published values -> estimate -> answer

Enters: the place of a release, and questions. Leaves: answers with errors. Must not know: the
publisher's side, engines, methods. Everything here is computed from what was published.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from countveil.asking.answer import Channels, EstimationSettings, answer_question, labelled
from countveil.asking.further_methods import FurtherMethods
from countveil.asking.merging import merged_channels
from countveil.asking.models.asked import MOMENTS, Modelled
from countveil.asking.questions.counting import (
    DEFAULT_CHANNEL,
    DEFAULT_LEVEL,
    DEFAULT_METHOD,
    DEFAULT_WITHIN,
    Counting,
)
from countveil.asking.result import Answer
from countveil.display import Part, html_of, text_of
from countveil.engines.choice import EMBEDDED, open_release
from countveil.engines.contract import OpenedRelease, ReleaseTable
from countveil.errors import QueryError, ReleaseError
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate import Estimator
from countveil.release import Expected, Manifest, PublishedColumn
from countveil.release.values import BOOLEAN
from countveil.sql.domain_values import evaluate
from countveil.sql.query import Question, ReleaseColumns, Tally, TallyPlan
from countveil.sql.query.expressions import Constant, as_condition
from countveil.sql.query.parse import Inputs, QuestionReader
from countveil.sql.query.plan import aggregates_of, is_composed
from countveil.sql.time_limit import time_limit

if TYPE_CHECKING:
    from countveil.asking.batch_channels import BatchedRelease
    from countveil.asking.together import TogetherChannels
    from countveil.sql.query.conditions import ConditionReader

Place = str | os.PathLike[str]


class Release(Counting, FurtherMethods, Modelled):
    """A published release, opened for questions: a folder, or a table in a database.

    In PostgreSQL (`postgresql://user@host/db#table`) and DuckDB (`duckdb:FILE#table`) the database
    tallies the rows; with the engine `spark` a cluster does, on any file system that it reads.
    `countveil.open` opens one. Printed, it says what it holds and promises.

    Args:
        folder: The place of the release.
        engine: "embedded", "spark" or "dask".
        master: The address of a Spark cluster, if there is no session yet.
        signed_by: The file of the publisher's Ed25519 public key, if the signature is checked.
        larger: How many times as large as usual the release may be.
        timeout: Seconds that a question may take; None for any number.

    Attributes:
        place (str): What was opened.
        folder (Path): The same as a path.
        manifest: What the publisher wrote about it; docs/reference/release-format.md explains it.

    Example:
        >>> release = cv.open("census-release")
        >>> release
        Release('census-release', 5,000 rows, occupation: ell 5)
        >>> release.sql("SELECT gender, count(*) FROM release WHERE age >= 60 GROUP BY gender")
         gender   estimate   std_error   low   high   verdict
         ─────────────────────────────────────────────────────
         F             528           0   528    528   reliable
         M             546           0   546    546   reliable
    """

    def __init__(
        self,
        folder: Place,
        *,
        engine: str = EMBEDDED,
        master: str | None = None,
        signed_by: Place | None = None,
        larger: float = 1,
        timeout: float | None = None,
    ) -> None:
        expected = Expected(None if signed_by is None else Path(signed_by), larger, timeout)
        self._open(folder, open_release(os.fspath(folder), engine, master, expected))
        self._timeout = timeout

    @classmethod
    def planned(cls, folder: Place, manifest: Manifest) -> Release:
        """What a dry run would publish: it says what it would hold, and answers nothing."""

        def refuse() -> NoReturn:
            raise ReleaseError("Nothing was published: it was a dry run. There are no rows to ask.")

        return cls.over(folder, OpenedRelease(manifest, refuse))

    @classmethod
    def over(cls, place: Place, opened: OpenedRelease) -> Release:
        """A release that is opened already, such as one in memory; `place` is what it is called."""
        release = cls.__new__(cls)
        release._open(place, opened)  # noqa: SLF001 - one of our own
        return release

    def _open(self, folder: Place, opened: OpenedRelease) -> None:
        self.folder = Path(folder)
        self.place = os.fspath(folder)
        self._opened, self._timeout = opened, None
        self.manifest = opened.manifest
        self._columns = ReleaseColumns.of(self.manifest, self._occurs, self._occurring, evaluate)
        self._views: dict[tuple[Any, ...], ChannelView] = {}
        self._reader = QuestionReader(self._columns)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.manifest.rows

    @property
    def columns(self) -> Sequence[PublishedColumn]:
        """The columns, in order."""
        return self.manifest.columns

    @property
    def ell(self) -> Mapping[str, int]:
        """Ell of each sensitive column."""
        return {name: entry.ell for name, entry in self.manifest.sensitive.items()}

    @property
    def weight(self) -> str | None:
        """The column with the survey weights, if the publisher named one."""
        return self.manifest.weight

    def __repr__(self) -> str:
        ells = ", ".join(f"{name}: ell {ell}" for name, ell in self.ell.items())
        kind = "Release" if self.manifest.files else "PlannedRelease"
        return f"{kind}({self.place!r}, {self.rows:,} rows, {ells})"

    def _parts(self) -> list[Part]:
        """What it holds and what it promises, for people."""
        columns = [(c.name, c.type, c.role, self.ell.get(c.name)) for c in self.columns]
        return [repr(self), (("column", "type", "role", "ell"), columns), *self.manifest.statement]

    def __str__(self) -> str:
        first, table, *statement = self._parts()
        return "\n\n".join([text_of([first, table]).rstrip(), text_of(statement, "\n\n")])

    def _repr_html_(self) -> str:
        return html_of(self._parts())

    def sql(
        self,
        query: str,
        *,
        method: str = DEFAULT_METHOD,
        channel: str = DEFAULT_CHANNEL,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
        weighted: bool = False,
        params: Sequence[Any] | Mapping[str, Any] = (),
        tables: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Answer a query of counts, sums, averages and shares. docs/reference/sql.md says which.

        The query is parsed, never executed as written.

        Args:
            query: A SELECT from `release`.
            method: "shrunk", "unbiased" or "bayes" (the paper's).
            channel: "exact", or "printed" as in the paper, which has no errors.
            level: The level of the intervals.
            within: The relative standard error up to which an estimate is `reliable`.
            weighted: Every row counts with its survey weight (`release.weight`).
            params: The values of `?` (a list) or `$name` (a dictionary).
            tables: Small lookup tables that the query may join, by name: dictionaries of columns,
                data frames, Arrow tables or CSV files.

        Returns:
            One row per group, each with an estimate, its error, an interval and a verdict.

        Raises:
            QueryError: The query is not supported, or asks for what is not there.
            SettingsError: An option has a value that it cannot have.
            EngineError: The database or the cluster failed.

        Example:
            >>> release.sql(
            ...     "SELECT occupation, count(*) FROM release WHERE gender = 'F' AND age < ? "
            ...     "GROUP BY occupation ORDER BY count(*) DESC LIMIT 2",
            ...     params=[40],
            ... )
             occupation   estimate   std_error   low   high   verdict
             ────────────────────────────────────────────────────────
             accountant   hidden     -             0   72.5   hidden
             actuary      hidden     -             0   15.4   hidden
        """
        seconds = self._timeout
        limited = nullcontext() if seconds is None else time_limit(self.interrupt, seconds)
        try:
            with limited:
                if query.lstrip()[:4].lower() in ("desc", "show"):
                    from countveil.asking.questions.describing import described, describes

                    if describes(query):
                        return described(self)
                settings = EstimationSettings(method, channel, level, within)
                lookups = self._lookups(tables) if tables else {}
                inputs = Inputs(params, lookups, self._exactly)
                if MOMENTS.search(query):
                    from countveil.sql.query.forms.rewriting import flat_text

                    ask = partial(self._question, weighted=weighted)
                    flat = flat_text(query, self._columns, inputs)
                    answer = self._moments(flat, ask, settings, weighted)
                    if answer:
                        return answer[0]
                return self._answer(self._question(query, weighted, inputs), settings)
        except QueryError as error:
            from countveil.sql.query.places import located

            raise located(error, query) from error.__cause__

    def values(self, column: str) -> list[Any]:
        """The values of a column: those that occur, or of a sensitive one those that are listed.

        Args:
            column: Its name.

        Returns:
            The values, in order.

        Raises:
            UnknownColumnError: There is no such column.

        Example:
            >>> release.values("gender")
            ['F', 'M']
        """
        from countveil.asking.questions.describing import values_of

        return values_of(self, self._columns.find(column))

    def _question(
        self,
        query: str,
        weighted: bool,
        inputs: Inputs | None = None,
    ) -> Question:
        question = self._reader.question(query, inputs or Inputs(exact=self._exactly))
        return self._weighted(question) if weighted else question

    def _exactly(self, question: Question) -> float | None:
        """The answer to a question about plain columns, as a number; None for none."""
        settings = EstimationSettings(DEFAULT_METHOD, "exact", DEFAULT_LEVEL, DEFAULT_WITHIN)
        return self._answer(question, settings).estimates[0].estimate

    def _weighted(self, question: Question) -> Question:
        """The same question, with every row counted by its weight."""
        from countveil.sql.query.weighting import weighted

        return weighted(question, self.weight)

    def _answer(self, question: Question, settings: EstimationSettings) -> Answer:
        """Tally, estimate, answer."""
        if is_composed(question):
            return self._composed(question, settings)
        estimator = settings.estimator()
        plan, channels = self._planned(question, estimator)
        tallied = self.table.tally(*channels.counted(plan))
        answer = answer_question(question, plan, tallied, channels, estimator, settings.within)
        return replace(answer, warnings=self._remarks(question, [plan], estimator))

    def _planned(self, question: Question, estimator: Estimator) -> tuple[TallyPlan, Channels]:
        plan = self._reader.plan(question)
        return plan, self._channels(plan, estimator)

    def _remarks(
        self, question: Question, plans: Sequence[TallyPlan], estimator: Estimator
    ) -> tuple[str, ...]:
        """What has to be said about an answer."""
        notes: list[str] = []
        if any(aggregate.measured for aggregate in aggregates_of(question)):
            from countveil.asking.unlisted import class_notes

            notes = class_notes(question, self.manifest)
        return (*self._unlisted(*plans), *estimator.warnings(), *notes)

    def _composed(self, question: Question, settings: EstimationSettings) -> Answer:
        """An answer from several tallies, or from the values that occur."""
        from countveil.asking.questions.assembly import Assembly

        estimator = settings.estimator()
        planned = partial(self._planned, estimator=estimator)
        rows = Assembly(planned, self.table, estimator, settings.within).rows(question)
        remarks = self._remarks(question, rows.plans, estimator)
        return labelled(question, rows.plan, (rows.keys, rows.columns), remarks)

    @cached_property
    def _conditions(self) -> ConditionReader:
        """Reads conditions, and remembers them."""
        # Loaded only where conditions are counted.
        from countveil.sql.query.conditions import ConditionReader

        return ConditionReader(self._columns)

    @cached_property
    def table(self) -> ReleaseTable:
        """The rows, which the first question opens."""
        return self._opened.open_table()

    def _channels(self, plan: TallyPlan, estimator: Estimator | None = None) -> Channels:
        """The channels of the sensitive columns of a plan, and what else the estimator needs."""
        names, domains = plan.tally.sensitive, plan.domains
        if self.manifest.batches and names:
            joint = estimator is not None and estimator.needs_joint_counts
            return self._batches.channels(plan, joint=joint)
        if self.manifest.together:
            channels = self._together.channels(plan, self._view)
            if channels.joined:
                return channels
        views = [self._view(*pair) for pair in zip(names, domains, strict=True)]
        if plan.tally.axes:
            return merged_channels(plan, views, estimator)
        if estimator is None or not estimator.needs_joint_counts or len(names) < 2:
            return Channels(views)
        return Channels(views, self._published_counts(names, domains))

    @cached_property
    def _batches(self) -> BatchedRelease:
        """The columns that were drawn in batches."""
        from countveil.asking.batch_channels import BatchedRelease

        return BatchedRelease(self.manifest, lambda: self.table, self._view)

    @cached_property
    def _together(self) -> TogetherChannels:
        """The columns that were published together."""
        from countveil.asking.together import TogetherChannels

        return TogetherChannels(self.manifest, lambda: self.table)

    def _occurring(self, names: Sequence[str], domains: Sequence[tuple[Any, ...]]) -> Any:
        """The combinations of columns together that rows publish."""
        return self._together.occurring(names, domains)

    def _view(self, name: str, domain: tuple[Any, ...]) -> ChannelView:
        """The channel of a sensitive column, from the published histogram."""
        if (name, domain) not in self._views:
            published = self._published_counts([name], [domain])
            self._views[name, domain] = self.view_of(name, published.astype("int64"))
        return self._views[name, domain]

    def view_of(self, name: str, published: Any) -> ChannelView:
        """The channel of a sensitive column that publishes each value so often."""
        entry = self.manifest.sensitive[name]
        common = tuple(entry.domain.index(value) for value in entry.common)
        if entry.cases is not None:
            from countveil.maths.channel.case_view import view_of_cases

            return view_of_cases(
                published, self.rows, (entry.ell, entry.groups, common), entry.cases
            )
        noise = None if entry.odds is None else (entry.odds.gamma, len(entry.domain))
        return view_of_release(published, self.rows, entry.ell, entry.groups, common, noise)

    def _published_counts(self, names: Sequence[str], domains: Sequence[tuple[Any, ...]]) -> Any:
        """The published counts of the whole table by sensitive columns."""
        all_rows = Tally(Constant(value=True, kind=BOOLEAN), (), (), tuple(names), ())
        return self.table.tally(all_rows, domains).moments[0, 0, 0]

    def _occurs(self, column: PublishedColumn, value: Any) -> bool:
        """Whether a row publishes this value of a plain column."""
        same = self._conditions.equals_unchecked(column, value)
        return bool(self.table.tally_each([as_condition(same)], (), ())[0] > 0)

    def _unlisted(self, *plans: TallyPlan) -> Sequence[str]:
        """Values that questions name and no row publishes; Python warns of them."""
        known = {name: len(entry.domain) for name, entry in self.manifest.sensitive.items()}
        pairs = (zip(plan.tally.sensitive, plan.domains, strict=True) for plan in plans)
        if all(len(domain) == known[name] for pair in pairs for name, domain in pair):
            return ()
        from countveil.asking.unlisted import note_unlisted

        return note_unlisted(plans, self.manifest.sensitive)
