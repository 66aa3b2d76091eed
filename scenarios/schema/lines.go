package schema

import (
	"bytes"
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Limits of a file's shape. They keep the reader's time and stack small; no real scenario comes near.
const (
	MaxFileBytes = 4 << 20
	MaxKeyParts  = 16
	maxDepth     = 32
	maxKeys      = 100_000
)

// lineIndex maps the path of every key, table and nested list of a TOML file to its line. Path parts are joined by
// JoinPath; elements of lists are numbered from 0.
type lineIndex map[string]int

// scanLines finds the lines of a TOML file's keys, which the library that reads the values does not tell. It leaves it
// to that to refuse broken files: on these it stops where it is lost. A non-empty excess says at line at that the file
// exceeds the limits above.
func scanLines(src []byte) (found lineIndex, excess string, at int) {
	s := &lineScanner{src: bytes.TrimPrefix(src, []byte("\uFEFF")), line: 1, lines: lineIndex{}, numElements: map[string]int{}}
	var p unstable.Parser
	p.Reset(s.src)
	table := ""
	for s.excess == "" && p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.KeyValue:
			s.recordPair(e, table, 0)
		case unstable.Table, unstable.ArrayTable:
			table = s.enterTable(e)
		}
	}
	if p.Error() != nil && s.excess == "" {
		s.checkDepth() // what is broken behind so many brackets matters to nobody, and the other library has no bound
	}
	return s.lines, s.excess, s.line
}

var tooDeep = "lists or tables nested more than " + strconv.Itoa(maxDepth) + " deep"

// lineScanner notes the lines of keys, which it meets in the order of the source.
type lineScanner struct {
	src         []byte
	offset      int // up to which lines are counted
	line        int // of offset
	lines       lineIndex
	numElements map[string]int // elements so far of each array of tables
	excess      string
}

// keyParts returns the parts of a dotted key, none of one that has too many.
func (s *lineScanner) keyParts(it unstable.Iterator) (parts []string) {
	for it.Next() {
		s.countTo(it.Node())
		if len(parts) == MaxKeyParts {
			s.excess = "a key of more than " + strconv.Itoa(MaxKeyParts) + " parts"
			return nil
		}
		parts = append(parts, string(it.Node().Data))
	}
	return parts
}

// countTo counts lines up to a node whose place is known.
func (s *lineScanner) countTo(n *unstable.Node) {
	if at := int(n.Raw.Offset); n.Raw.Length > 0 && at > s.offset {
		s.line += bytes.Count(s.src[s.offset:at], []byte("\n"))
		s.offset = at
	}
}

// checkDepth looks for brackets that are nested too deep, whatever they stand in.
func (s *lineScanner) checkDepth() {
	depth := 0
	for _, c := range s.src[s.offset:] {
		switch c {
		case '\n':
			s.line++
		case '[', '{':
			if depth++; depth > maxDepth {
				s.excess = tooDeep
				return
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
}

// enterTable enters the table that parts name. Parts before the last that are arrays of tables mean their newest element.
func (s *lineScanner) enterTable(e *unstable.Node) string {
	path, parts := "", s.keyParts(e.Key())
	for i, part := range parts {
		path = JoinPath(path, part)
		s.record(path)
		n, isArray := s.numElements[path]
		if last := i == len(parts)-1; last && e.Kind == unstable.ArrayTable {
			s.numElements[path] = n + 1
			path = JoinPath(path, strconv.Itoa(n))
		} else if isArray {
			path = JoinPath(path, strconv.Itoa(n-1))
		}
	}
	// A header outranks dotted keys that made the table before.
	s.lines[path] = s.line
	return path
}

// record notes the first line on which path appears.
func (s *lineScanner) record(path string) {
	if _, ok := s.lines[path]; !ok {
		s.lines[path] = s.line
	}
	if len(s.lines) > maxKeys {
		s.excess = "more than " + strconv.Itoa(maxKeys) + " keys and tables"
	}
}

// recordPair notes a key of the table at path, and what its value holds.
func (s *lineScanner) recordPair(e *unstable.Node, path string, depth int) {
	parts := s.keyParts(e.Key())
	for i, part := range parts {
		path = JoinPath(path, part)
		s.record(path)
		if n, isArray := s.numElements[path]; isArray && i < len(parts)-1 {
			path = JoinPath(path, strconv.Itoa(n-1)) // the library lets this pass
		}
	}
	s.recordValue(e.Value(), path, depth)
}

// recordValue notes the keys in a value, which belongs to path, and the elements of a list that are lists or tables.
func (s *lineScanner) recordValue(v *unstable.Node, path string, depth int) {
	if depth > maxDepth {
		s.excess = tooDeep
	}
	children := v.Children()
	for n := 0; s.excess == "" && children.Next(); n++ {
		switch child := children.Node(); {
		case v.Kind == unstable.InlineTable:
			s.recordPair(child, path, depth+1)
		case child.Kind == unstable.Array || child.Kind == unstable.InlineTable:
			element := JoinPath(path, strconv.Itoa(n))
			s.countToFirst(child)
			s.record(element)
			s.recordValue(child, element, depth+1)
		default:
			s.countTo(child)
		}
	}
}

// countToFirst counts lines up to the first thing in a list or table whose place is known.
func (s *lineScanner) countToFirst(v *unstable.Node) {
	for depth := 0; v != nil && depth <= maxDepth; depth++ {
		s.countTo(v)
		children := v.Children()
		if v.Kind == unstable.KeyValue {
			children = v.Key()
		}
		if v = nil; children.Next() {
			v = children.Node()
		}
	}
}
