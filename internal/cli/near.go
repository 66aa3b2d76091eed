package cli

import "sim/scenarios/result"

// didYouMean returns the end of a message about an unknown word: the nearest
// of the known ones, or else where to find them.
func didYouMean(word string, known []string, otherwise string) string {
	if near := nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; " + otherwise
}

// nearest returns the known word that word is most likely a slip of, "" when
// none is near: at most a third of its letters may differ, and at least one.
func nearest(word string, known []string) string {
	best, at := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := result.Edits(word, k); d < at {
			best, at = k, d
		}
	}
	return best
}
