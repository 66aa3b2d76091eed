// Package text formats numbers, times, tables and lines for people, identically for all
// commands and documents. It does not depend on their meaning.
//
// Table prints tables, Unit a column of times. Wrap, Line and Screen control the layout of
// lines and escape text of unknown origin. DidYouMean suggests corrections of misspelt names.
package text

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Plural formats a number of things: Plural(2, "cell") is "2 cells". A plural that is not
// formed with s is given as many.
func Plural(n int, one string, many ...string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + append(many, one+"s")[0]
}

// Count formats an integer with thousands separators: 1,234.
func Count[T int | int32 | int64](n T) string { return Thousands(float64(n)) }

// Thousands formats v, rounded to an integer, with thousands separators: 1,234.
func Thousands(v float64) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v < 0 && s != "0" {
		return "-" + s
	}
	return s
}

// Amount formats an integer with thousands separators and any other number with three
// decimals.
func Amount(v float64) string {
	if v == math.Trunc(v) {
		return Thousands(v)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// Exact formats a number with as many digits as needed to read back the same value.
func Exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Percent formats a ratio in percent, with one decimal, or two significant digits if it is
// below 0.1 %.
func Percent(ratio float64) string {
	p := 100 * ratio
	digits := 1

	// One decimal would print such a number as 0.0 or 0.1. Up to 1e-6 % it counts as 0.
	if a := math.Abs(p); a > 1e-6 && a < 0.0995 {
		const maxDigits = 6
		digits = min(1-int(math.Floor(math.Log10(a))), maxDigits)
	}
	return strconv.FormatFloat(p, 'f', digits, 64) + " %"
}

// Change formats a relative change in percent with its sign. Even very small changes are not
// printed as zero.
func Change(ratio float64) string {
	sign := "+"
	if ratio < 0 {
		sign = "-"
	}
	if a := 100 * math.Abs(ratio); a > 0 && a <= 1e-6 {
		return sign + strconv.FormatFloat(a, 'g', 2, 64) + " %"
	}
	return sign + Percent(math.Abs(ratio))
}

// Snip shortens s to at most the given number of characters; a shortened text ends with an
// ellipsis.
func Snip(s string, maxChars int) string { return text.Snip(s, maxChars, "…") }

// Trim cuts s after the given number of characters.
func Trim(s string, maxChars int) string { return text.Trim(s, maxChars) }

// Bold returns s with the terminal sequences for bold text.
func Bold(s string) string { return text.Colors{text.Bold}.Sprint(s) }

// Indent puts n spaces before each line of s.
func Indent(s string, n int) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+pad)
}

// figure matches a number with its unit, which Wrap does not separate.
var figure = regexp.MustCompile(`([0-9]) (s|ms|µs|ns|%)([^[:alnum:]]|$)`)

// Wrap breaks s between words into lines of at most width characters. Line breaks of s are
// kept, and a number is not separated from its unit. A word longer than width gets its own
// line. Lines after the first are indented by hang spaces.
func Wrap(s string, width, hang int) string {
	const glue = "\u00a0"
	s = figure.ReplaceAllString(s, "$1"+glue+"$2$3")
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		now := ""
		for _, word := range strings.Split(line, " ") {
			if word == "" {
				continue
			}
			switch {
			case strings.TrimSpace(now) == "":
				now += word
			case utf8.RuneCountInString(now)+1+utf8.RuneCountInString(word) > width:
				out = append(out, now)
				now = strings.Repeat(" ", hang) + word
			default:
				now += " " + word
			}
		}
		out = append(out, now)
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), glue, " ")
}

// DidYouMean returns the end of an error message about an unknown word: "; did you mean X?" if
// there are similar known words, else "; " and the text otherwise.
func DidYouMean(word string, known []string, otherwise string) string {
	if near := similarNames(word, known); near != nil {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return "; " + otherwise
}

// Nearest returns the known word that word most likely stands for: a word with a few edits, or
// the only word with this prefix. Without such a word it returns "".
func Nearest(word string, known []string) string {
	if near := similarNames(word, known); len(near) == 1 {
		return near[0]
	}
	return ""
}

// maxSuggestions limits the number of words with a common prefix that a message suggests. With
// more, the list of all words is more useful.
const maxSuggestions = 4

// similarNames returns the known words that word may stand for, ignoring case. The first choice is
// the word with the smallest edit distance, at most 3 and at most a third of the length.
// Otherwise these are the words that begin with word, if word has four letters or more.
func similarNames(word string, known []string) []string {
	word = strings.ToLower(word)
	best, bestEdits := "", min(3, len(word)/3)+1 // at first one more than is accepted
	var longer []string
	for _, k := range known {
		lower := strings.ToLower(k)
		if len(word) >= 4 && strings.HasPrefix(lower, word) {
			longer = append(longer, k)
		}
		if d := len(k) - len(word); d >= bestEdits || -d >= bestEdits {
			continue
		}
		if d := Edits(word, lower); d < bestEdits {
			best, bestEdits = k, d
		}
	}
	if best != "" {
		return []string{best}
	}
	if len(longer) > maxSuggestions {
		return nil
	}
	return longer
}

// Edits returns the optimal string alignment distance of a and b: the number of bytes to
// insert, delete, substitute or transpose with their neighbour.
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

// Line returns text of unknown origin as one printable line of at most the given number of
// bytes. Newlines become semicolons, unprintable characters are escaped as in Go, and a line
// that is too long ends with three dots.
func Line(s string, maxBytes int) string {
	const dots = "..."
	maxExamined := 4 * maxBytes // the rest of a very long text is not examined
	var b strings.Builder
	fits := 0 // length of the longest prefix of b that leaves space for the dots
	for i, r := range strings.TrimRight(s[:min(len(s), maxExamined)], "\r\n") {
		switch {
		case r == '\n' || r == '\r':
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "; ") {
				b.WriteString("; ")
			}
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		if b.Len() > maxBytes {
			return b.String()[:fits] + dots
		}
		if b.Len() <= maxBytes-len(dots) {
			fits = b.Len()
		}
	}
	if len(s) > maxExamined {
		return b.String()[:fits] + dots
	}
	return b.String()
}
