package text

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// Acts reports whether a terminal could interpret r as a command instead of showing it. Such
// characters are the C0 and C1 control characters except tab and newline, line and paragraph
// separators, and the bidirectional formatting characters of Unicode UAX #9.
func Acts(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029:
		return true
	}
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Screen writes text for a terminal or a file. Names and labels in the text may come from
// files of unknown origin, so characters that a terminal would interpret, and bytes that are
// not UTF-8, are escaped as in Go and JSON strings. The sequences of Bold are written
// unchanged.
type Screen struct {
	W    io.Writer
	rest []byte // incomplete character or sequence at the end of the previous Write
}

// Write writes p, except for an incomplete character or sequence at its end, which is kept for
// the next call.
func (s *Screen) Write(p []byte) (int, error) {
	all := p
	if len(s.rest) > 0 {
		all = append(s.rest, p...)
		s.rest = nil
	}
	whole := len(all)
	for n := 1; n < utf8.UTFMax && n <= len(all); n++ {
		if tail := all[len(all)-n:]; begins(tail) {
			whole -= n
			s.rest = bytes.Clone(tail)
			break
		}
	}
	if _, err := s.W.Write(shown(all[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the incomplete character or sequence that is still held back.
func (s *Screen) Flush() error {
	_, err := s.W.Write(shown(s.rest))
	s.rest = nil
	return err
}

// passes lists the sequences that Bold writes; they are not escaped.
var passes = [][]byte{[]byte("\x1b[1m"), []byte("\x1b[0m")}

// begins reports whether p is an incomplete character or an incomplete sequence of passes.
func begins(p []byte) bool {
	for _, sequence := range passes {
		if len(p) < len(sequence) && bytes.HasPrefix(sequence, p) {
			return true
		}
	}
	return utf8.RuneStart(p[0]) && !utf8.FullRune(p)
}

// shown returns p with all characters escaped that a terminal would interpret. If there are
// none, it returns p itself.
func shown(p []byte) []byte {
	if utf8.Valid(p) && !bytes.ContainsFunc(p, Acts) {
		return p
	}
	var b bytes.Buffer
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		for _, sequence := range passes {
			if bytes.HasPrefix(p, sequence) {
				r, size = 0, len(sequence)
				b.Write(sequence)
			}
		}
		switch {
		case size > 1 && r == 0: // a sequence of passes, already written
		case r == utf8.RuneError && size == 1, r < ' ' && Acts(r):
			fmt.Fprintf(&b, `\x%02x`, p[0])
		case Acts(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.Write(p[:size])
		}
		p = p[size:]
	}
	return b.Bytes()
}

// Shown returns s with all characters escaped that a terminal would interpret.
func Shown(s string) string {
	return string(shown([]byte(s)))
}
