package scenarios

import "strings"

// nearest returns the candidate that text most likely was meant to be, or ""
// when none is near: at most one edit in three letters, and never more than
// three.
func nearest(text string, candidates []string) string {
	text = strings.ToLower(text)
	best, bestEdits := "", min(3, len(text)/3)+1
	for _, c := range candidates {
		if d := len(c) - len(text); d >= bestEdits || -d >= bestEdits {
			continue
		}
		if edits := distance(text, strings.ToLower(c)); edits < bestEdits {
			best, bestEdits = c, edits
		}
	}
	return best
}

// distance counts the edits between a and b: a letter inserted, dropped or
// replaced, or two neighbours swapped.
func distance(a, b string) int {
	row := func() []int { return make([]int, len(b)+1) }
	before, last, now := row(), row(), row() // of the table, for prefixes of a
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			now[j] = min(last[j], now[j-1]) + 1
			if a[i-1] == b[j-1] {
				now[j] = min(now[j], last[j-1])
			} else {
				now[j] = min(now[j], last[j-1]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// oneOf says which names are allowed, the likeliest first.
func oneOf(text string, allowed []string) string {
	if n := nearest(text, allowed); n != "" {
		return "did you mean " + quote(n) + "?"
	}
	return "choose " + quotedList(allowed)
}

// quotedList writes `"a", "b" or "c"`.
func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
