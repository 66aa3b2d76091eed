// Package text words numbers, names and tables for people, in one manner for all commands and documents: counts and
// percentages, times with a unit, lines that wrap, names that may be slips of others. It knows nothing of what they
// mean.
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

// Plural counts things: Plural(2, "cell") is "2 cells". What does not take an s is given.
func Plural(n int, one string, many ...string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + append(many, one+"s")[0]
}

// Count prints a whole number with its thousands apart: 1,234.
func Count[T int | int32 | int64](n T) string { return Thousands(float64(n)) }

// Thousands prints v as a whole number with its thousands apart: 1,234.
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

// Amount prints a number: its thousands apart where it is whole, else three decimals.
func Amount(v float64) string {
	if v == math.Trunc(v) {
		return Thousands(v)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// Exact prints a number with all its digits and no more.
func Exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Percent prints a ratio in percent: tenths, and of what is less two digits.
func Percent(ratio float64) string {
	p := 100 * ratio
	digits := 1
	if a := math.Abs(p); a > 1e-6 && a < 0.0995 { // what rounds to less than a tenth
		digits = min(1-int(math.Floor(math.Log10(a))), 6)
	}
	return strconv.FormatFloat(p, 'f', digits, 64) + " %"
}

// Change prints a relative change in percent with its sign, however small it is.
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

// Snip cuts a name to at most so many characters, the last of which then is an ellipsis.
func Snip(s string, most int) string { return text.Snip(s, most, "…") }

// Trim cuts a line to at most so many characters.
func Trim(s string, most int) string { return text.Trim(s, most) }

// Bold prints s in bold on a terminal.
func Bold(s string) string { return text.Colors{text.Bold}.Sprint(s) }

// Indent puts n spaces before every line of s.
func Indent(s string, n int) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+pad)
}

// figure is a number before its unit, which Wrap keeps together.
var figure = regexp.MustCompile(`([0-9]) (s|ms|µs|ns|%)([^[:alnum:]]|$)`)

// Wrap breaks s into lines of at most width, between words; its own line breaks stay, and a number stays with its unit.
// A longer word gets a line of its own. Lines after the first are indented by hang.
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

// DidYouMean returns the end of a message about an unknown word: the nearest of the known ones, the few that begin with
// it, or else where to find them.
func DidYouMean(word string, known []string, otherwise string) string {
	if near := meant(word, known); near != nil {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return "; " + otherwise
}

// Nearest returns the known word that word most likely stands for, "" when there is none: one that it is a slip of, or the
// only one that begins with it.
func Nearest(word string, known []string) string {
	if near := meant(word, known); len(near) == 1 {
		return near[0]
	}
	return ""
}

// mostMeant is how many words that begin alike are offered.
const mostMeant = 4

// meant returns the known word that word is a slip of: at most a third of its letters may differ, whatever their case,
// and no more than three. Of a word that is none it returns those that begin with its four letters or more.
func meant(word string, known []string) []string {
	word = strings.ToLower(word)
	best, at := "", min(3, len(word)/3)+1
	var longer []string
	for _, k := range known {
		lower := strings.ToLower(k)
		if len(word) >= 4 && strings.HasPrefix(lower, word) {
			longer = append(longer, k)
		}
		if d := len(k) - len(word); d >= at || -d >= at {
			continue
		}
		if d := Edits(word, lower); d < at {
			best, at = k, d
		}
	}
	if best != "" {
		return []string{best}
	}
	if len(longer) > mostMeant {
		return nil
	}
	return longer
}

// Edits counts the bytes to insert, drop, change or swap with their neighbour to get from a to b (optimal string
// alignment): how far a name is from the one that was meant.
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

// Line makes one printable line of a text of unknown origin, of at most so many bytes: line ends become semicolons,
// other characters that a terminal would act on are written as Go writes them, and what is too long ends in three dots.
func Line(s string, most int) string {
	const dots = "..."
	var b strings.Builder
	fits := 0 // bytes of b that leave room for dots
	for i, r := range strings.TrimRight(s[:min(len(s), 4*most)], "\r\n") {
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
		if b.Len() > most {
			return b.String()[:fits] + dots
		}
		if b.Len() <= most-len(dots) {
			fits = b.Len()
		}
	}
	if len(s) > 4*most {
		return b.String()[:fits] + dots
	}
	return b.String()
}
