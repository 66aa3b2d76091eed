package scenarios

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value reads a value, which belongs to path, and the spaces before it.
func (s *scanner) value(path string, depth int) bool {
	if depth > maxDepth {
		s.excess = "lists or tables nested more than " + strconv.Itoa(maxDepth) + " deep"
		return false
	}
	s.blank(false)
	switch s.peek() {
	case '"', '\'':
		_, ok := s.text()
		return ok
	case '[':
		return s.list(path, depth)
	case '{':
		return s.inline(path, depth)
	}
	start := s.i
	for s.i < len(s.src) && !strings.ContainsRune(",]}#\r\n", rune(s.src[s.i])) {
		s.i++
	}
	return s.i > start
}

// list reads a list. Its elements that are lists or tables are numbered.
func (s *scanner) list(path string, depth int) bool {
	s.next()
	for n := 0; ; n++ {
		s.blank(true)
		if s.take(']') {
			return true
		}
		element := path
		if c := s.peek(); c == '[' || c == '{' {
			element = joinPath(path, strconv.Itoa(n))
			s.mark(element, s.line)
		}
		if !s.value(element, depth+1) {
			return false
		}
		s.blank(true)
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// inline reads an inline table. Line ends within are a matter of the TOML
// version; here they are let pass.
func (s *scanner) inline(path string, depth int) bool {
	s.next()
	for {
		s.blank(true)
		if s.take('}') {
			return true
		}
		if !s.pair(path, depth+1) {
			return false
		}
		s.blank(true)
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// text reads a string of any of the four sorts and returns its content.
func (s *scanner) text() (string, bool) {
	quote := s.peek()
	closing := []byte{quote}
	triple := bytes.Repeat(closing, 3)
	multi := bytes.HasPrefix(s.src[s.i:], triple)
	if multi {
		closing = triple
	}
	s.i += len(closing)
	start := s.i
	for s.i < len(s.src) {
		c := s.src[s.i]
		switch {
		case c == '\\' && quote == '"':
			s.next()
		case c == '\n' && !multi:
			return "", false
		case bytes.HasPrefix(s.src[s.i:], closing):
			end := s.i
			s.i += len(closing)
			// Up to two quotes may stand before the closing three.
			for k := 0; multi && k < 2 && s.take(quote); k++ {
				end++
			}
			return unescape(string(s.src[start:end]), quote), true
		}
		s.next()
	}
	return "", false
}

// unescape resolves the escapes of a quoted key.
func unescape(raw string, quote byte) string {
	if quote == '\'' || !strings.Contains(raw, `\`) {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		i++
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[raw[i]]
		switch {
		case digits > 0 && i+digits < len(raw):
			r, err := strconv.ParseUint(raw[i+1:i+1+digits], 16, 32)
			if err != nil {
				r = utf8.RuneError
			}
			b.WriteRune(rune(r))
			i += digits
		case strings.IndexByte("btnfre", raw[i]) >= 0:
			b.WriteByte("\b\t\n\f\r\x1b"[strings.IndexByte("btnfre", raw[i])])
		default:
			b.WriteByte(raw[i])
		}
	}
	return b.String()
}
