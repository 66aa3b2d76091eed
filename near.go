package main

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
		if d := distance(word, k); d < at {
			best, at = k, d
		}
	}
	return best
}

// distance counts the letters to insert, drop, change or swap with their
// neighbour to get from a to b (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
