package scenarios

import (
	"bytes"
	"strconv"
	"strings"
)

// Limits of a scenario file's shape. They keep the reader's time and stack
// small; no real scenario comes near.
const (
	maxFileBytes = 4 << 20
	maxKeyParts  = 16
	maxDepth     = 32
	maxKeys      = 100_000
)

// lines maps the path of every key, table and nested list of a TOML file to
// its line. Path parts are joined by joinPath; elements of lists are numbered
// from 0.
type lines map[string]int

// joinPath appends a part to a dotted path, quoted if it is not a bare key.
func joinPath(path, part string) string {
	if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r > 127 || !isBare(byte(r)) }) {
		part = strconv.Quote(part)
	}
	if path == "" {
		return part
	}
	return path + "." + part
}

func isBare(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// scanLines finds the lines of a TOML file's keys, which the TOML library does
// not tell. It relies on the library to refuse broken files: on these it
// stops where it is lost. A non-empty excess says at line at that the file
// exceeds the limits above.
func scanLines(src []byte) (found lines, excess string, at int) {
	s := &scanner{src: src, line: 1, lines: lines{}, count: map[string]int{}}
	s.file()
	return s.lines, s.excess, s.line
}

// scanner walks over the source once. A method that reads something returns
// false where the file is broken or too deep, which ends the scan.
type scanner struct {
	src     []byte
	i, line int
	lines   lines
	count   map[string]int // elements so far of each array of tables
	excess  string
}

func (s *scanner) peek() byte {
	if s.i < len(s.src) {
		return s.src[s.i]
	}
	return 0
}

func (s *scanner) next() {
	if s.peek() == '\n' {
		s.line++
	}
	s.i++
}

// take steps over c if it comes next.
func (s *scanner) take(c byte) bool {
	if s.i >= len(s.src) || s.src[s.i] != c {
		return false
	}
	s.next()
	return true
}

// blank skips spaces and, where newlines is set, line ends and comments.
func (s *scanner) blank(newlines bool) {
	for s.i < len(s.src) {
		switch c := s.src[s.i]; {
		case c == ' ' || c == '\t':
		case newlines && (c == '\n' || c == '\r'):
		case newlines && c == '#':
			for s.i < len(s.src) && s.src[s.i] != '\n' {
				s.i++
			}
			continue
		default:
			return
		}
		s.next()
	}
}

func (s *scanner) file() {
	s.src = bytes.TrimPrefix(s.src, []byte("\xef\xbb\xbf"))
	table := ""
	for {
		s.blank(true)
		if s.i >= len(s.src) {
			return
		}
		if !s.take('[') {
			if !s.pair(table, 0) {
				return
			}
			continue
		}
		array := s.take('[')
		line := s.line
		parts, ok := s.key()
		if !ok || !s.take(']') || array && !s.take(']') {
			return
		}
		table = s.header(parts, array, line)
	}
}

// header enters the table that parts name. Parts before the last that are
// arrays of tables mean their newest element.
func (s *scanner) header(parts []string, array bool, line int) string {
	path := ""
	for i, part := range parts {
		path = joinPath(path, part)
		s.mark(path, line)
		n, isArray := s.count[path]
		if last := i == len(parts)-1; last && array {
			s.count[path] = n + 1
			path = joinPath(path, strconv.Itoa(n))
		} else if isArray {
			path = joinPath(path, strconv.Itoa(n-1))
		}
	}
	// A header outranks dotted keys that made the table before.
	s.lines[path] = line
	return path
}

// mark notes the first line on which path appears.
func (s *scanner) mark(path string, line int) {
	if _, ok := s.lines[path]; !ok {
		s.lines[path] = line
	}
	if len(s.lines) > maxKeys {
		s.excess = "more than " + strconv.Itoa(maxKeys) + " keys and tables"
		s.i = len(s.src) // which ends the scan
	}
}

// pair reads "key = value" in the table at path.
func (s *scanner) pair(path string, depth int) bool {
	line := s.line
	parts, ok := s.key()
	if !ok || !s.take('=') {
		return false
	}
	for i, part := range parts {
		path = joinPath(path, part)
		s.mark(path, line)
		if n, isArray := s.count[path]; isArray && i < len(parts)-1 {
			path = joinPath(path, strconv.Itoa(n-1)) // the library lets this pass
		}
	}
	return s.value(path, depth)
}

// key reads a dotted key and the spaces around it.
func (s *scanner) key() (parts []string, ok bool) {
	for {
		s.blank(false)
		start := s.i
		switch c := s.peek(); {
		case c == '"' || c == '\'':
			text, ok := s.text()
			if !ok {
				return nil, false
			}
			parts = append(parts, text)
		default:
			for s.i < len(s.src) && isBare(s.src[s.i]) {
				s.i++
			}
			if s.i == start {
				return nil, false
			}
			parts = append(parts, string(s.src[start:s.i]))
		}
		if len(parts) > maxKeyParts {
			s.excess = "a key of more than " + strconv.Itoa(maxKeyParts) + " parts"
			return nil, false
		}
		s.blank(false)
		if !s.take('.') {
			return parts, true
		}
	}
}
