// The filter: the same rule as `list --query` (board/query.py; one file of examples holds both to it). It runs over the
// rows, never over what is drawn.

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;
const NUMBER = /^#([1-9][0-9]*)$/;

export const MAX_QUERY = 200;

const fold = (text) => text.normalize("NFKC").toLowerCase();

/** A query, taken apart once. */
export function parse(text) {
  const numbers = new Set();
  const terms = [];
  for (const term of fold(text).split(SPACE)) {
    if (!term) continue;
    const found = NUMBER.exec(term);
    if (found) numbers.add(Number(found[1]));
    else terms.push(term);
  }
  return { numbers, terms };
}

export const isEmpty = (query) => query.numbers.size === 0 && query.terms.length === 0;

const folded = new WeakMap();

function places(row) {
  let found = folded.get(row);
  if (!found) {
    found = [row.title, ...row.paths, ...(row.owner ? [row.owner.label] : [])].map(fold);
    folded.set(row, found);
  }
  return found;
}

/** Whether every term matches this row. */
export function matches(row, query) {
  if (query.numbers.size && !(query.numbers.size === 1 && query.numbers.has(row.id))) return false;
  if (!query.terms.length) return true;
  const inside = places(row);
  return query.terms.every((term) => inside.some((place) => place.includes(term)));
}

/** Whether every term of a query without a number matches one of these texts. */
export function matchesTexts(texts, query) {
  if (query.numbers.size) return false;
  const inside = texts.map(fold);
  return query.terms.every((term) => inside.some((place) => place.includes(term)));
}
