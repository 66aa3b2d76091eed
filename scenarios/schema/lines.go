package schema

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Limits of a file's shape. They keep the reader's time and stack small; no real
// scenario comes near.
const (
	MaxFileBytes = 4 << 20
	MaxKeyParts  = 16
	maxDepth     = 32
	maxKeys      = 100_000
)

// lines maps the path of every key, table and nested list of a TOML file to
// its line. Path parts are joined by JoinPath; elements of lists are numbered
// from 0.
type lines map[string]int

// scanLines finds the lines of a TOML file's keys, which the TOML library does
// not tell. It relies on the library to refuse broken files: on these it
// stops where it is lost. A non-empty excess says at line at that the file
// exceeds the limits above.
func scanLines(src []byte) (found lines, excess string, at int) {
	s := &scanner{src: bytes.TrimPrefix(src, []byte("\uFEFF")), line: 1, lines: lines{}, count: map[string]int{}}
	s.file()
	return s.lines, s.excess, s.line
}

// scanner reads the source once, token by token. A method that reads something returns
// false where the file is broken or too deep, which ends the scan.
type scanner struct {
	src     []byte
	i, line int
	lines   lines
	count   map[string]int // elements so far of each array of tables
	excess  string

	token byte   // that comes next: a mark of [ ] { } , = . or a line end; word, of a text or what stands bare; 0 at the end
	text  string // of a word
	at    int    // line of the token
}

const word = 'w'

// next steps to the next token.
func (s *scanner) next() {
	for s.i < len(s.src) && strings.IndexByte(" \t\r", s.src[s.i]) >= 0 {
		s.i++
	}
	if s.i < len(s.src) && s.src[s.i] == '#' {
		if end := bytes.IndexByte(s.src[s.i:], '\n'); end >= 0 {
			s.i += end
		} else {
			s.i = len(s.src)
		}
	}
	if s.at = s.line; s.i >= len(s.src) {
		s.token = 0
		return
	}
	switch c := s.src[s.i]; c {
	case '\n':
		s.line++
		s.token = c
		s.i++
	case '[', ']', '{', '}', ',', '=', '.':
		s.token = c
		s.i++
	case '"', '\'':
		text, end := quotedText(s.src, s.i)
		if end == 0 {
			s.token, s.i = 0, len(s.src)
			return
		}
		s.line += bytes.Count(s.src[s.i:end], []byte("\n"))
		s.token, s.text, s.i = word, text, end
	default:
		end := bytes.IndexAny(s.src[s.i:], " \t\r\n#[]{},=.\"'")
		if end < 0 {
			end = len(s.src) - s.i
		}
		s.token, s.text = word, string(s.src[s.i:s.i+end])
		s.i += end
	}
}

// quotedText returns the content of the string at i, of any of the four sorts, and where it ends;
// 0 where it does not.
func quotedText(src []byte, i int) (string, int) {
	quote := src[i : i+1]
	closing, start := quote, i
	if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(src[i:], triple) {
		closing = triple
	}
	for i += len(closing); i < len(src); i++ {
		switch c := src[i]; {
		case c == '\\' && quote[0] == '"':
			i++
		case c == '\n' && len(closing) == 1:
			return "", 0
		case bytes.HasPrefix(src[i:], closing):
			i += len(closing)
			for k := 0; len(closing) == 3 && k < 2 && bytes.HasPrefix(src[i:], quote); k++ {
				i++ // up to two quotes may stand before the closing three
			}
			raw := string(src[start:i])
			if quote[0] == '"' && len(closing) == 1 && strings.Contains(raw, `\`) {
				var of struct{ V string }
				if _, err := toml.Decode("V = "+raw, &of); err == nil {
					return of.V, i
				}
			}
			return raw[len(closing) : len(raw)-len(closing)], i
		}
	}
	return "", 0
}

// take steps over a mark if it comes next.
func (s *scanner) take(mark byte) bool {
	if s.token != mark {
		return false
	}
	s.next()
	return true
}

// lineEnds steps over line ends.
func (s *scanner) lineEnds() {
	for s.take('\n') {
	}
}

func (s *scanner) file() {
	table := ""
	s.next()
	for s.lineEnds(); s.token != 0; s.lineEnds() {
		line := s.at
		if !s.take('[') {
			if !s.pair(table, 0) {
				return
			}
			continue
		}
		array := s.take('[')
		parts := s.key()
		if parts == nil || !s.take(']') || array && !s.take(']') {
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
		path = JoinPath(path, part)
		s.mark(path, line)
		n, isArray := s.count[path]
		if last := i == len(parts)-1; last && array {
			s.count[path] = n + 1
			path = JoinPath(path, strconv.Itoa(n))
		} else if isArray {
			path = JoinPath(path, strconv.Itoa(n-1))
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
		s.i, s.token = len(s.src), 0 // which ends the scan
	}
}

// pair reads "key = value" in the table at path.
func (s *scanner) pair(path string, depth int) bool {
	line := s.at
	parts := s.key()
	if parts == nil || s.token != '=' {
		return false
	}
	for i, part := range parts {
		path = JoinPath(path, part)
		s.mark(path, line)
		if n, isArray := s.count[path]; isArray && i < len(parts)-1 {
			path = JoinPath(path, strconv.Itoa(n-1)) // the library lets this pass
		}
	}
	return s.take('=') && s.value(path, depth)
}

// key reads a dotted key.
func (s *scanner) key() (parts []string) {
	for s.token == word {
		if parts = append(parts, s.text); len(parts) > MaxKeyParts {
			s.excess = "a key of more than " + strconv.Itoa(MaxKeyParts) + " parts"
			return nil
		}
		if s.next(); !s.take('.') {
			return parts
		}
	}
	return nil
}

// value reads a value, which belongs to path.
func (s *scanner) value(path string, depth int) bool {
	if depth > maxDepth {
		s.excess = "lists or tables nested more than " + strconv.Itoa(maxDepth) + " deep"
		return false
	}
	switch s.token {
	case '[':
		return s.list(path, depth)
	case '{':
		return s.inline(path, depth)
	}
	for strings.IndexByte(",]}\n\x00", s.token) < 0 {
		s.next()
	}
	return true
}

// list reads a list. Its elements that are lists or tables are numbered.
func (s *scanner) list(path string, depth int) bool {
	s.next()
	for n := 0; ; n++ {
		if s.lineEnds(); s.take(']') {
			return true
		}
		element := path
		if s.token == '[' || s.token == '{' {
			element = JoinPath(path, strconv.Itoa(n))
			s.mark(element, s.at)
		}
		if s.token == 0 || !s.value(element, depth+1) {
			return false
		}
		if s.lineEnds(); !s.take(',') {
			return s.take(']')
		}
	}
}

// inline reads an inline table. Line ends within are a matter of the TOML
// version; here they are let pass.
func (s *scanner) inline(path string, depth int) bool {
	s.next()
	for {
		if s.lineEnds(); s.take('}') {
			return true
		}
		if !s.pair(path, depth+1) {
			return false
		}
		if s.lineEnds(); !s.take(',') {
			return s.take('}')
		}
	}
}
