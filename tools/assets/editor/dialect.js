// The words of the SQL that a release answers (docs/reference/sql.md).
//
// Enters: nothing. Leaves: a dialect for colours, and the words to propose. Must not know: an editor.

import { SQLDialect } from "@codemirror/lang-sql";

const PHRASES = [
  "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "AND", "OR", "NOT",
  "IN", "BETWEEN", "LIKE", "ILIKE", "IS NULL", "IS NOT NULL", "TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END",
  "AS", "ASC", "DESC", "NULLS FIRST", "NULLS LAST", "FILTER", "OVER", "PARTITION BY", "WITHIN GROUP", "WITH", "JOIN",
  "LEFT JOIN", "USING", "ON", "ROLLUP", "CUBE", "GROUPING SETS", "CAST", "INTERVAL", "EXTRACT", "ALL", "ANY",
];

/** The keywords to propose, in capitals. */
export const keywords = PHRASES;

/** Words that cannot be the name of a column without quotes. */
export const reserved = new Set(PHRASES.flatMap((phrase) => phrase.split(" ")).concat("NULL", "UNION", "TABLE"));

export const dialect = SQLDialect.define({
  keywords: [...reserved].filter((word) => !["TRUE", "FALSE", "NULL"].includes(word)).join(" ").toLowerCase(),
  types: "integer double varchar date timestamp boolean",
  operatorChars: "*+-%<>!=/|",
});
