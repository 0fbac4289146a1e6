"""An export to PostgreSQL that ends in its midst: both tables or none, and the next one works."""

from __future__ import annotations

import signal
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import pytest

from tests.faults.injected import Fault, Run
from tests.faults.points import spread
from tests.faults.trials import IN_PLACE, UNCONFIRMED, Server
from tests.robustness.tools import BUG, SMALL_ROWS

pytestmark = pytest.mark.faults

SENDING = ["sendto"]
TABLES = ("people", "people_manifest")
WHOLE, NOTHING = [SMALL_ROWS, 1], [None, None]


def rows_in(address: str) -> list[int | None]:
    with adbc.connect(address) as connection, connection.cursor() as cursor:
        counts: list[int | None] = []
        for name in TABLES:
            cursor.execute(f"SELECT to_regclass('{name}') IS NOT NULL")
            (there,) = cursor.fetchone() or (False,)
            if there:
                cursor.execute(f"SELECT count(*) FROM {name}")
            counts.append(int((cursor.fetchone() or (0,))[0]) if there else None)
        return counts


def emptied(address: str) -> None:
    with adbc.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for name in TABLES:
            cursor.execute(f"DROP TABLE IF EXISTS {name}")


# A send that is refused while the connection lives is no fault of the world: the driver then waits
# for what the server would say of it.
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_both_tables_or_none(
    server: Server, given: Path, tmp_path: Path, postgres: str, number: signal.Signals
) -> None:
    fault = Fault(signal=number)
    words = ["export", f"{given}/new", "--to", f"{postgres}#people"]
    emptied(postgres)
    first = server(Run(words, str(given), str(tmp_path), names=SENDING))
    assert (first.code, rows_in(postgres)) == (0, WHOLE), first
    assert len(first.calls) > 5
    for point in spread(len(first.calls), 5):
        emptied(postgres)
        ended = server(Run(words, str(given), str(tmp_path), point, fault, SENDING))
        now = rows_in(postgres)
        assert BUG not in ended.err, ended
        assert now in (WHOLE, NOTHING), ended
        if ended.code == 0:
            assert now == WHOLE, ended
        elif ended.code == 1:
            # The server may have ended the transaction before its answer was lost.
            assert now == NOTHING or "commit" in ended.err.lower(), ended
        elif ended.code == UNCONFIRMED or IN_PLACE in ended.err:
            assert now == WHOLE, ended
        again = ["--force"] if now == WHOLE else []
        following = server(Run([*words, *again], str(given), str(tmp_path), names=SENDING))
        assert (following.code, rows_in(postgres)) == (0, WHOLE), (ended, following)
