// This file formats numbers, texts and file names for figures.

package sheet

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// ShortNumber formats v as short as possible with up to six significant digits; very large and
// very small numbers get an exponent.
func ShortNumber(v float64) string {
	if a := math.Abs(v); a >= 1e5 || a < 1e-4 && a > 0 {
		text := strconv.FormatFloat(v, 'e', -1, 64)
		mantissa, exponent, _ := strings.Cut(text, "e")
		n, err := strconv.Atoi(exponent)
		if err != nil || len(mantissa) > 6 {
			return Digits(v, 3)
		}
		return mantissa + "e" + strconv.Itoa(n)
	}

	return Digits(v, 6)
}

// RoundTo rounds v to n significant digits.
func RoundTo(v float64, n int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// Capitalise returns s with an upper-case first letter.
func Capitalise(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// Percent formats a ratio in percent with three significant digits.
func Percent(part float64) string { return Digits(100*part, 3) + " %" }

// Plain returns s as one line without control characters and other characters that cannot be
// drawn.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == unicode.ReplacementChar, r&0xfffe == 0xfffe:
			// Control characters, and the last two code points of each plane of Unicode, are not
			// allowed in SVG.
			return -1
		}
		return r
	}, s)
}

// Fit returns s as one line, shortened with an ellipsis if it is wider than width.
func Fit(style text.Style, s string, width vg.Length) string {
	s = Plain(s)
	if style.Width(s) <= width {
		return s
	}

	// Find the number of characters that fit before the ellipsis.
	runes := []rune(s)
	fits := sort.Search(len(runes), func(n int) bool {
		return style.Width(string(runes[:n+1])+"…") > width
	})

	return strings.TrimRight(string(runes[:fits]), " ") + "…"
}

// Wrap breaks s between words into at most the given number of lines of a width. The last line
// is shortened if necessary.
func Wrap(style text.Style, s string, width vg.Length, lines int) []string {
	var out []string
	line := ""
	words := strings.Fields(Plain(s))
	for i, w := range words {
		switch next := strings.TrimSpace(line + " " + w); {
		case line == "" || style.Width(next) <= width:
			line = next
		case len(out) == lines-1:
			return append(out, Fit(style, line+" "+strings.Join(words[i:], " "), width))
		default:
			out = append(out, Fit(style, line, width))
			line = w
		}
	}

	if line != "" {
		out = append(out, Fit(style, line, width))
	}
	return out
}

// CommonPrefix splits names into their common prefix, up to a space, and the remainders:
// "stage 1" and "stage 2" become "stage" and "1", "2".
func CommonPrefix(names []string) (prefix string, rests []string) {
	if len(names) == 0 {
		return "", nil
	}
	// Shorten the prefix word by word until all names have it.
	prefix = names[0][:strings.LastIndexByte(names[0], ' ')+1]
	for _, n := range names {
		for !strings.HasPrefix(n, prefix) {
			prefix = prefix[:strings.LastIndexByte(strings.TrimSuffix(prefix, " "),
				' ')+1]
		}
	}

	for _, n := range names {
		rests = append(rests, n[len(prefix):])
	}
	return strings.TrimSpace(prefix), rests
}

// FileName replaces the characters of s that are not allowed in file names on all systems.
func FileName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9',
			strings.ContainsRune("._+-", r):
			return r
		}
		return '_'
	}, s)

	// Leaves space for a prefix and an extension within 255 bytes.
	const maxLength = 80
	return s[:min(len(s), maxLength)]
}

// Unique appends numbers to figure names that occur several times. Upper and lower case count
// as equal, as in some file systems.
func Unique(figs []Figure) {
	seen := map[string]bool{}
	for i := range figs {
		name := figs[i].Name
		for n := 2; seen[strings.ToLower(figs[i].Name)]; n++ {
			figs[i].Name = fmt.Sprintf("%s-%d", name, n)
		}
		seen[strings.ToLower(figs[i].Name)] = true
	}
}

// Digits formats v with at most n significant digits, without an exponent unless v is very
// large or very small.
func Digits(v float64, n int) string {
	if v == 0 {
		return "0"
	}
	if a := math.Abs(v); a >= 1e7 || a < 1e-4 {
		return strconv.FormatFloat(v, 'g', n, 64)
	}

	// whole is the number of digits before the decimal point.
	whole := int(math.Floor(math.Log10(math.Abs(v)))) + 1
	s := strconv.FormatFloat(v, 'f', max(0, n-whole), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}

	return s
}

// Duration formats a time of s seconds in a suitable unit with the given number of significant
// digits.
func Duration(s float64, digits int) string {
	u := TimeUnit(s)
	return Digits(s*u.Per, digits) + " " + u.Name
}
