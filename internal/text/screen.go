package text

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// Acts reports whether a terminal may act on r rather than show it: a control character of C0 or C1 other than tab and
// line end, a line or paragraph separator, or one of the characters that reorder text (Unicode UAX #9: marks, embeddings,
// overrides and isolates).
func Acts(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029:
		return true
	}
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Screen writes text to a terminal or file, in which names and labels may come from files of unknown origin. Characters
// on which a terminal acts are written as Go and JSON write them in strings, and so are bytes that are no UTF-8. Bold
// (see Bold) passes.
type Screen struct {
	W    io.Writer
	rest []byte // the beginning of a character or sequence whose end is not written yet
}

// Write writes p but for the beginning of a character or of a sequence at its end, which waits for the next call.
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

// Flush writes the beginning of a character or sequence that never ended.
func (s *Screen) Flush() error {
	_, err := s.W.Write(shown(s.rest))
	s.rest = nil
	return err
}

// passes are the sequences that Bold writes.
var passes = [][]byte{[]byte("\x1b[1m"), []byte("\x1b[0m")}

// begins reports whether p is the beginning of a character or of a sequence that passes, and not all of it.
func begins(p []byte) bool {
	for _, sequence := range passes {
		if len(p) < len(sequence) && bytes.HasPrefix(sequence, p) {
			return true
		}
	}
	return utf8.RuneStart(p[0]) && !utf8.FullRune(p)
}

// shown returns p with what a terminal would act on escaped. It returns p itself if there is nothing to escape.
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
		case size > 1 && r == 0: // a sequence
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

// Shown returns s with what a terminal would act on escaped.
func Shown(s string) string {
	return string(shown([]byte(s)))
}
