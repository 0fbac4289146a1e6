"""One publication with a ledger, from opening it to the moment when both are in agreement.

Enters: the ledger's files, the prepared table, settings. Leaves: what is counted and drawn, what
the release says of it, and a ledger that lists the release exactly if it is in its place. Must not
know: how groups are formed, engines, SQL.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from countveil.engines.contract import Engine, SourceTable
from countveil.engines.drawn import Drawn
from countveil.errors import LedgerError, SettingsError, TargetError, option
from countveil.maths.mechanism import PublishedTable
from countveil.publishing.again.continuing import ContinuedCases, Continuing
from countveil.publishing.again.rules import check_rare, column_sets, rules_of
from countveil.publishing.again.written import Continued, NewBatch, written_down
from countveil.publishing.cases import check_cases
from countveil.publishing.counting import Counted
from countveil.publishing.ledger.agreement import one_step, resolve
from countveil.publishing.ledger.book import Book, open_book
from countveil.publishing.prepare import PreparedTable
from countveil.publishing.publications.record import entries_beside
from countveil.publishing.settings import LedgerFiles, Protecting, Writing
from countveil.randomness import Randomness
from countveil.release.places import Places
from countveil.release.preparation import Preparation
from countveil.system.files import readable_by_others
from countveil.tables import Shaping
from countveil.tables.progress import Progress

# The publisher is warned if random groups let a value of new cases be believed as much as this.
_MOST_BELIEF = 0.5


@dataclass
class LedgerSession:
    """A ledger that is open for one publication.

    `continued` is what the release says and adds, once it was drawn; `warnings` are sentences.
    """

    book: Book
    files: LedgerFiles
    target: str
    places: Places
    warnings: list[str] = field(default_factory=list)
    continued: Continued | None = None

    @property
    def continues_target(self) -> bool:
        """Whether the release at the target is one of this ledger, so that it may be replaced."""
        for place, manifest in self.places.releases(self.target):
            mark = manifest.ledger
            return place == self.target and mark is not None and mark.id == self.book.id
        return False

    def count_and_draw(
        self,
        prepared: PreparedTable[SourceTable],
        protecting: Protecting,
        shaping: Shaping,
        preparation: Preparation | None,
        work: tuple[Randomness, Progress],
    ) -> tuple[Counted, dict[str, PublishedTable], Drawn]:
        """What is counted and drawn; `preparation` is what the release says was done before."""
        randomness, progress = work
        steps = {} if preparation is None else preparation.as_json()
        person = shaping.persons[0]
        check_cases(protecting)
        check_rare(shaping.rare, protecting.columns)
        rules = {
            columns: rules_of(columns, person, prepared.roles.published, steps)
            for columns in protecting.draws
        }
        sets = column_sets(self.book, rules, protecting.ell, prepared.roles)
        continuing = Continuing(self.book, replace(prepared, person=person), protecting, sets)
        counted = continuing.count(hold=self.files.hold)
        tables, drawn, drawn_sets = continuing.draw(counted, randomness, progress)
        self.continued = written_down(continuing, drawn_sets, seeded=randomness.seeded)
        self.warnings += about_batches(continuing, counted)
        return counted, tables, drawn

    @property
    def batches(self) -> list[NewBatch]:
        """What this release adds, for the publisher."""
        return [] if self.continued is None else [each.new_batch for each in self.continued.sets]

    @contextlib.contextmanager
    def committing(
        self, data: str, rows: int, before: Callable[[], None] | None
    ) -> Iterator[Callable[[], None]]:
        """Commit the draft with these data inside, calling what this gives before it is renamed."""
        additions = [] if self.continued is None else self.continued.additions
        with one_step(self.book, additions, rows, self.target, self.places) as writer:

            def prepare() -> None:
                if before is not None:
                    before()
                writer.prepare(data.rpartition("/")[0])

            yield prepare


def about_batches(continuing: Continuing, counted: Counted) -> list[str]:
    """Sentences for the publisher: who waits, and whether anybody was recognised."""
    said = [
        f"The new cases of {', '.join(columns.columns)} are too few, or too much alike, for "
        f"groups: their rows are not in this release. Publish again when there are more."
        for columns in continuing.on_hold
    ]
    if counted.left_out.size:
        said.append(f"Rows that wait for a later release: {counted.left_out.size:,}.")
    strangers = [
        each.columns
        for each in continuing.cases
        if each.columns in continuing.book.sets and each.new.all()
    ]
    said += [
        f"Nobody in this table is known to the ledger: all cases of {', '.join(columns.columns)} "
        f"are new. If these people were published before, their identifiers or values are written "
        f"in another way now, and this release would draw them a second time."
        for columns in strangers
    ]
    return said + [text for each in continuing.cases for text in _about_frequent(each, continuing)]


def _about_frequent(each: ContinuedCases, continuing: Continuing) -> list[str]:
    """A sentence if most of the new cases of a set have one value, and random groups show it."""
    columns, ell = each.columns.columns, each.columns.ell
    groups = continuing.protecting.columns[columns[0]].groups
    chosen = groups == "random" and len(columns) == 1
    if not chosen or not each.new.any() or each.new.all():
        return []
    new = each.cases.only(each.new)
    shares = {name: new.counts_of(n).max() / each.new.sum() for n, name in enumerate(columns)}
    beliefs = {name: (1 + (ell - 1) * share) / ell for name, share in shares.items()}
    return [
        f"One value of {name} has {shares[name]:.0%} of the {each.new.sum():,} new cases. Random "
        f"groups hide it little: where a new case publishes it, it is the true one with "
        f"probability {belief:.2f}. To wait for more new cases, leave out "
        f"{option('groups', 'random')} and give {option('hold', True)}."
        for name, belief in beliefs.items()
        if belief >= _MOST_BELIEF
    ]


def about_permissions(files: LedgerFiles) -> list[str]:
    """A sentence for each of the files that others can read."""
    return [
        f"{path} can be read by others. It is for you only: the ledger and its key together tell "
        f"who has which value. Take the permission from them: chmod 600 {path}"
        for path in (files.path, files.key)
        if readable_by_others(path.stat())
    ]


@contextlib.contextmanager
def open_session(
    files: LedgerFiles, writing: Writing, engine: Engine, shaping: Shaping
) -> Iterator[LedgerSession]:
    """The ledger of a publication, locked, and in agreement with its releases."""
    if not shaping.persons:
        raise SettingsError(
            f"{option('ledger')} needs to know whose rows are whose: name the column that "
            f"identifies persons with {option('person')}. It is not published."
        )
    places = engine.places
    target = places.full(writing.to)
    with open_book(files.path, files.key, write=not writing.dry_run) as book:
        said = about_permissions(files)
        said += [] if writing.dry_run else resolve(book, places)
        check_newest(book, target, places)
        session = LedgerSession(book, files, target, places, said)
        if session.continues_target and not writing.force:
            raise TargetError(
                f"{writing.to} is a release of the ledger {files.path} already. Name another "
                f"folder, or add {option('force', True)} to replace it: everybody publishes what "
                f"they did."
            )
        yield session


def check_newest(book: Book, target: str, places: Places) -> None:
    """Refuse a ledger that is older than what was published beside the target: a restored copy."""
    newest = max((release.number for release in book.releases), default=0)
    marks = [
        (place, manifest.ledger.id, manifest.ledger.release)
        for place, manifest in places.releases(target)
        if manifest.ledger is not None
    ]
    # What was published there and moved elsewhere since.
    marks += [
        (entry.release, entry.ledger_id, entry.ledger_release)
        for entry in entries_beside(target)
        if entry.ledger_id is not None and entry.ledger_release is not None
    ]
    for place, ledger, release in marks:
        if ledger == book.id and release > newest:
            raise LedgerError(
                f"The ledger {book.path} is older than {place}, which is release {release} of it; "
                f"it knows of {newest}. It seems to be a copy that was restored. Restore the "
                f"newest one: with this one, people who were published since then would be drawn a "
                f"second time."
            )
