package scenarios

import (
	"strings"

	"sim/scenarios/result"
)

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
		if edits := result.Edits(text, strings.ToLower(c)); edits < bestEdits {
			best, bestEdits = c, edits
		}
	}
	return best
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
