// This file finds the lines of the keys of a TOML file, and checks its size and depth.

package schema

import (
	"bytes"
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Limits of the shape of a file. They limit the time and stack of the reader and exceed
// every real scenario.
const (
	MaxFileBytes = 4 << 20 // size of the file
	MaxKeyParts  = 16      // parts of a dotted key
	maxDepth     = 32      // depth of nested lists and tables
	maxKeys      = 100_000 // keys and tables
)

// lineIndex maps the path of each key, table and nested list to its line. Parts of paths
// are joined by JoinPath; elements of lists are numbered from 0.
type lineIndex map[string]int

// scanLines finds the lines of a TOML file's keys, because the library that decodes the
// values does not report them. Invalid files are left to that library: scanning stops at
// the first error. If the file exceeds a limit, excess names the limit, and at is the
// line.
func scanLines(src []byte) (found lineIndex, excess string, at int) {
	const byteOrderMark = "\uFEFF" // some editors write it
	s := &lineScanner{
		src:         bytes.TrimPrefix(src, []byte(byteOrderMark)),
		line:        1,
		lines:       lineIndex{},
		numElements: map[string]int{},
	}
	var p unstable.Parser
	p.Reset(s.src)
	table := ""
	for s.excess == "" && p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.KeyValue:
			const topDepth = 0
			s.recordPair(e, table, topDepth)
		case unstable.Table, unstable.ArrayTable:
			table = s.enterTable(e)
		}
	}
	if p.Error() != nil && s.excess == "" {
		// The decoding library has no depth limit of its own.
		s.checkDepth()
	}
	return s.lines, s.excess, s.line
}

// tooDeep is the description of the limit maxDepth.
var tooDeep = "lists or tables nested more than " + strconv.Itoa(maxDepth) + " deep"

// lineScanner records the lines of keys in the order of the source.
type lineScanner struct {
	src    []byte
	offset int // lines are counted up to this byte
	line   int // line at offset
	lines  lineIndex
	// numElements is the number of elements so far, keyed by array of tables.
	numElements map[string]int
	// excess names the exceeded limit, or is "".
	excess string
}

// keyParts returns the parts of a dotted key, or nil if it has too many.
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

// countTo counts lines up to a node with a known offset.
func (s *lineScanner) countTo(n *unstable.Node) {
	if at := int(n.Raw.Offset); n.Raw.Length > 0 && at > s.offset {
		s.line += bytes.Count(s.src[s.offset:at], []byte("\n"))
		s.offset = at
	}
}

// checkDepth searches the rest of the file for brackets that are nested too deeply,
// regardless of their context.
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

// enterTable enters the table of a header. Parts before the last that are arrays of
// tables stand for their last element.
func (s *lineScanner) enterTable(e *unstable.Node) string {
	path, parts := "", s.keyParts(e.Key())
	for i, part := range parts {
		path = JoinPath(path, part)
		s.record(path)
		// A header of an array of tables starts a new element. Other parts that are arrays stand
		// for their last element.
		n, isArray := s.numElements[path]
		if last := i == len(parts)-1; last && e.Kind == unstable.ArrayTable {
			s.numElements[path] = n + 1
			path = JoinPath(path, strconv.Itoa(n))
		} else if isArray {
			path = JoinPath(path, strconv.Itoa(n-1))
		}
	}
	// A header takes precedence over dotted keys that created the table earlier.
	s.lines[path] = s.line
	return path
}

// record records the first line of path.
func (s *lineScanner) record(path string) {
	if _, ok := s.lines[path]; !ok {
		s.lines[path] = s.line
	}
	if len(s.lines) > maxKeys {
		s.excess = "more than " + strconv.Itoa(maxKeys) + " keys and tables"
	}
}

// recordPair records a key of the table at path, and the keys inside its value.
func (s *lineScanner) recordPair(e *unstable.Node, path string, depth int) {
	parts := s.keyParts(e.Key())
	for i, part := range parts {
		path = JoinPath(path, part)
		s.record(path)
		if n, isArray := s.numElements[path]; isArray && i < len(parts)-1 {
			path = JoinPath(path, strconv.Itoa(n-1)) // the decoding library accepts this
		}
	}
	s.recordValue(e.Value(), path, depth)
}

// recordValue records the keys inside a value at path, and the elements of a list that
// are lists or tables.
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

// countToFirst counts lines up to the first node with a known offset inside v.
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
