package plots

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// plain returns s on one line, without what cannot be drawn.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == unicode.ReplacementChar, r&0xfffe == 0xfffe: // not allowed in SVG
			return -1
		}
		return r
	}, s)
}

// fit returns s, cut with an ellipsis where it is wider than width.
func fit(style text.Style, s string, width vg.Length) string {
	s = plain(s)
	if style.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	lo, hi := 0, len(runes) // the longest prefix that fits has lo runes or more, below hi
	for lo+1 < hi {
		mid := (lo + hi) / 2
		if style.Width(string(runes[:mid])+"…") <= width {
			lo = mid
		} else {
			hi = mid
		}
	}
	return strings.TrimRight(string(runes[:lo]), " ") + "…"
}

// wrap breaks s between words into at most lines lines of a width, of about
// equal length.
func wrap(style text.Style, s string, width vg.Length, lines int) []string {
	out := breakLines(style, s, width, lines)
	const narrower = 0.95 // a step towards the least width that needs no more lines
	for w := width * narrower; len(out) > 1; w *= narrower {
		next := breakLines(style, s, w, len(out)+1)
		if len(next) != len(out) || strings.Contains(next[len(next)-1], "…") {
			break
		}
		out = next
	}
	return out
}

// breakLines fills one line after the other.
func breakLines(style text.Style, s string, width vg.Length, lines int) []string {
	var out []string
	line := ""
	words := strings.Fields(plain(s))
	for i, w := range words {
		switch next := strings.TrimSpace(line + " " + w); {
		case line == "" || style.Width(next) <= width:
			line = next
		case len(out) == lines-1:
			return append(out, fit(style, line+" "+strings.Join(words[i:], " "), width))
		default:
			out = append(out, fit(style, line, width))
			line = w
		}
	}
	if line != "" {
		out = append(out, fit(style, line, width))
	}
	return out
}

// commonPrefix splits names into what they all begin with, up to a space, and
// the rests: "stage 1", "stage 2" are "stage" and "1", "2".
func commonPrefix(names []string) (prefix string, rests []string) {
	if len(names) == 0 {
		return "", nil
	}
	prefix = names[0][:strings.LastIndexByte(names[0], ' ')+1]
	for _, n := range names {
		for !strings.HasPrefix(n, prefix) {
			prefix = prefix[:strings.LastIndexByte(strings.TrimSuffix(prefix, " "), ' ')+1]
		}
	}
	for _, n := range names {
		rests = append(rests, n[len(prefix):])
	}
	return strings.TrimSpace(prefix), rests
}

// fileName makes s fit to name a file anywhere.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._+-", r):
			return r
		}
		return '_'
	}, s)
	const longest = 80 // with room for prefix and ending below 255 bytes
	return s[:min(len(s), longest)]
}

// unique numbers figures whose names clash. File systems may not tell upper
// from lower case.
func unique(figs []Figure) {
	seen := map[string]bool{}
	for i := range figs {
		name := figs[i].Name
		for n := 2; seen[strings.ToLower(figs[i].Name)]; n++ {
			figs[i].Name = fmt.Sprintf("%s-%d", name, n)
		}
		seen[strings.ToLower(figs[i].Name)] = true
	}
}

// digits formats v with n significant digits, without an exponent where that
// is short.
func digits(v float64, n int) string {
	if v == 0 {
		return "0"
	}
	if a := math.Abs(v); a >= 1e7 || a < 1e-4 {
		return strconv.FormatFloat(v, 'g', n, 64)
	}
	whole := int(math.Floor(math.Log10(math.Abs(v)))) + 1
	s := strconv.FormatFloat(v, 'f', max(0, n-whole), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// duration formats seconds with their unit, to four digits.
func duration(s float64) string {
	u := timeUnit(s)
	return digits(s*u.per, 4) + " " + u.name
}

// coarse is duration with the digits that a percentile has: it is the upper end of a class 1/128 wide.
func coarse(s float64) string {
	u := timeUnit(s)
	return digits(s*u.per, 3) + " " + u.name
}

// plural returns "1 port", "2 ports".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
