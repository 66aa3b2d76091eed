package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestScreen: the output does not depend on how a text is divided into writes. It contains no
// control or bidirectional characters except tabs and newlines, and no invalid UTF-8; all
// other characters are unchanged.
func TestScreen(t *testing.T) {
	pieces := []string{
		"a", "é", "…", "世", "𝄞", "\n", "\t", "\x1b[1m", "\x1b[0m", "\x1b[2J", "\x1b", "\r", "\x00", "\x7f", "\u0085", "\u009b", "\u2028", "\u061c",
		"\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\xff", "\xe2\x80", "\xf0", `\u202e`,
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")
		var out bytes.Buffer
		s := &Screen{W: &out}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			if got, err := s.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatalf("Write returned %d and %v, want %d", got, err, n)
			}
			rest = rest[n:]
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), Shown(text); got != want {
			t.Fatalf("got %q in pieces, want %q as at once", got, want)
		}
		bare := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(out.String())
		if !utf8.ValidString(bare) || strings.ContainsFunc(bare, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028)
		}) {
			t.Fatalf("a terminal acts on %q", out.String())
		}
	})
	if got, want := Shown("a\u202eb\x1b[2J\u009b"), `a\u202eb\x1b[2J\u009b`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
