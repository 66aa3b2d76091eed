package result

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ShortKey words a dotted key by its last part; what is one of several jobs'
// keeps the job's number.
func ShortKey(key string) string {
	parts := strings.Split(key, ".")
	last := parts[len(parts)-1]
	if parts[0] == "job" && len(parts) > 2 {
		return "job " + parts[1] + " " + last
	}
	return last
}

// Thousands prints v as a whole number with its thousands apart: 1,234.
func Thousands(v float64) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v < 0 {
		return "-" + s
	}
	return s
}

// Edits counts the bytes to insert, drop, change or swap with their neighbour to
// get from a to b (optimal string alignment): how far a name is from the one that
// was meant.
func Edits(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		for j := range len(b) {
			d := last[j]
			if a[i] != b[j] {
				d++
			}
			now[j+1] = min(d, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// Line makes one printable line of a text of unknown origin, of at most so many bytes: line ends become semicolons, other
// characters that a terminal would act on are written as Go writes them, and what is too long ends in three dots.
func Line(text string, most int) string {
	const dots = "..."
	var b strings.Builder
	fits := 0 // bytes of b that leave room for dots
	for i, r := range strings.TrimRight(text[:min(len(text), 4*most)], "\r\n") {
		switch {
		case r == '\n' || r == '\r':
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "; ") {
				b.WriteString("; ")
			}
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		if b.Len() > most {
			return b.String()[:fits] + dots
		}
		if b.Len() <= most-len(dots) {
			fits = b.Len()
		}
	}
	if len(text) > 4*most {
		return b.String()[:fits] + dots
	}
	return b.String()
}
