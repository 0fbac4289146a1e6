"""The fifty occupations of the made-up census.

Each line: name | relative frequency | women among the employed | usual education (0 none ..
7 doctorate) | spread of education | pay (0 low .. 9 high) | sector (p private, g government,
s self-employed, n non-profit, m mixed). All numbers are made up.
"""

from __future__ import annotations

from dataclasses import dataclass

_LINES = """
retail salesperson|62|0.50|3.0|1.3|2.0|p
office clerk|60|0.76|3.4|1.2|3.0|m
driver|56|0.12|2.6|1.1|3.2|p
general manager|54|0.38|4.9|1.2|7.2|p
cook|44|0.42|2.2|1.2|1.8|p
construction labourer|42|0.05|2.2|1.0|3.4|p
school teacher|42|0.75|5.4|0.7|4.4|g
cleaner|40|0.58|1.9|1.2|1.6|m
nurse|38|0.87|4.8|0.8|5.2|m
cashier|36|0.71|2.6|1.1|1.4|p
secretary|34|0.92|3.5|1.0|3.0|m
warehouse worker|34|0.24|2.4|1.0|2.6|p
customer service agent|32|0.65|3.5|1.1|2.6|p
home care aide|31|0.87|2.6|1.1|1.8|n
accountant|28|0.61|5.1|0.8|5.8|p
software developer|28|0.20|5.3|0.9|7.6|p
waiter|27|0.68|2.9|1.2|1.4|p
mechanic|26|0.03|2.9|0.9|4.0|p
machine operator|26|0.28|2.5|1.0|3.2|p
electrician|22|0.03|3.3|0.8|5.0|p
guard|20|0.24|3.0|1.1|2.6|m
carpenter|19|0.03|2.6|0.9|3.8|s
bookkeeper|19|0.86|3.8|1.0|3.2|p
farm worker|18|0.22|1.6|1.2|1.6|p
child care worker|18|0.94|3.1|1.1|1.4|n
gardener|17|0.08|2.0|1.1|2.2|s
police officer|16|0.18|4.0|1.0|5.6|g
hairdresser|15|0.89|3.0|0.8|1.8|s
lawyer|15|0.40|6.3|0.6|8.2|s
medical assistant|14|0.90|3.6|0.9|2.6|p
civil engineer|14|0.16|5.4|0.7|7.2|p
social worker|13|0.81|5.1|0.9|3.8|n
physician|13|0.42|6.7|0.5|9.0|m
real estate agent|12|0.54|4.2|1.1|5.2|s
plumber|12|0.02|2.9|0.8|4.8|s
graphic designer|11|0.48|4.8|0.9|4.2|s
bank teller|10|0.82|3.5|1.0|2.6|p
university lecturer|10|0.49|6.7|0.5|6.0|g
farmer|9|0.26|3.0|1.3|4.0|s
postal worker|9|0.42|3.0|1.0|4.2|g
welder|8|0.05|2.6|0.8|3.8|p
pharmacist|6|0.60|6.2|0.6|8.0|p
firefighter|6|0.05|3.7|0.8|5.6|g
journalist|5|0.52|5.2|0.8|4.6|p
librarian|4|0.82|5.6|0.8|4.0|g
architect|4|0.29|5.8|0.6|6.6|s
musician|3|0.36|4.2|1.4|2.8|s
clergy|3|0.22|5.4|1.1|3.6|n
actuary|1.2|0.38|5.7|0.6|8.0|p
watchmaker|0.8|0.20|3.2|1.0|3.4|s
"""


@dataclass(frozen=True, slots=True)
class Occupation:
    """One occupation and who tends to have it."""

    name: str
    weight: float
    women: float
    education: float
    spread: float
    pay: float
    sector: str


def _read(line: str) -> Occupation:
    name, weight, women, education, spread, pay, sector = line.split("|")
    return Occupation(
        name, float(weight), float(women), float(education), float(spread), float(pay), sector
    )


OCCUPATIONS = tuple(_read(line) for line in _LINES.strip().splitlines())
