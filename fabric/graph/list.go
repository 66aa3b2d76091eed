// Package graph describes networks of any shape. Read reads a list of links from text, and the
// Generators generate known shapes such as fat trees. It is for graphs that no other package of
// fabric describes. policies/routing chooses the paths over them.
package graph

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// ErrList is wrapped by every error in a list.
var ErrList = errors.New("graph: invalid list of links")

// MaxNodes and MaxLinks limit the size of a list, and with it the memory of a network. MaxLinks
// links take 0.8 GB.
const (
	MaxNodes = 1 << 20
	MaxLinks = 1 << 24
)

// Graph is a network with names of nodes.
type Graph struct {
	*engine.Network
	Names []string // indexed by node; decimal numbers if the list has numbers
	// Endpoints is the number of nodes that send and receive. Later nodes are switches. 0 means
	// that the file does not state it.
	Endpoints int
}

// Options supplies properties that a list does not contain.
type Options struct {
	// Link holds the default rate and latency of links, and the buffer and virtual channels of all
	// links.
	Link engine.Link
	// Undirected makes two links of every line, one in each direction.
	Undirected bool
}

// Read reads a list of links:
//
//	# from to [rate [latency]]
//	a b
//	b a 100Gbps
//	b c 100Gbps 500ns
//
// Words are separated by spaces or by commas. Text after # is ignored, as is a first line that
// starts with the words from and to. If all nodes are numbers, they must be numbered from 0
// without gaps. Otherwise they are names, numbered in the order in which they appear. Links are
// numbered in the order of lines; the reverse link of an undirected line follows its forward
// link. Several lines with the same nodes are parallel links.
//
// name is the name of the file in messages. Read reports all errors of the file together, up to
// a limit, each with its line: missing or additional words, invalid rates and latencies, a rate
// of zero, a link from a node to itself. A list without links is also an error.
func Read(r io.Reader, name string, o Options) (*Graph, error) {
	in := &reader{name: name, options: o, ids: make(map[string]int32), allNumeric: true}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		in.line++
		text, _, _ := strings.Cut(lines.Text(), "#")
		if words := split(text); len(words) > 0 {
			in.add(words)
		}
		if len(in.links) > MaxLinks || len(in.names) > MaxNodes {
			return nil, fmt.Errorf("%w: %s:%d: more than %d nodes or %d links",
				ErrList, name, in.line, MaxNodes, MaxLinks)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		in.line++
		in.report("a line of more than %d bytes; want from, to, and perhaps a rate and a latency",
			bufio.MaxScanTokenSize)
	} else if err != nil {
		return nil, fmt.Errorf("graph: %s:%d: %w", name, in.line+1, err)
	}
	if len(in.diagnostics) > 0 {
		return nil, errors.Join(in.diagnostics...)
	}
	return in.graph()
}

// reader is the state of Read.
type reader struct {
	name        string // file name for messages
	options     Options
	line        int     // number of the current line
	diagnostics []error // errors so far
	links       []engine.Link
	ids         map[string]int32 // number of each name, in the order of appearance
	names       []string         // indexed by these numbers
	allNumeric  bool             // all names are numbers
	hasStarted  bool             // a line with words was read before
}

// maxDiagnostics is the maximum number of errors that Read reports.
const maxDiagnostics = 20

// report adds an error of the current line.
func (in *reader) report(format string, args ...any) {
	if len(in.diagnostics) < maxDiagnostics {
		in.diagnostics = append(in.diagnostics, fmt.Errorf("%w: %s:%d: %s",
			ErrList, in.name, in.line, fmt.Sprintf(format, args...)))
	}
}

// split splits a line into words. Between commas, words may be empty.
func split(text string) []string {
	if !strings.Contains(text, ",") {
		return strings.Fields(text)
	}
	words := strings.Split(text, ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}

// add processes the words of a line.
func (in *reader) add(words []string) {
	first := !in.hasStarted
	in.hasStarted = true
	if first && len(words) > 1 && strings.EqualFold(words[0], "from") && strings.EqualFold(words[1], "to") {
		return
	}
	if len(words) < 2 || len(words) > 4 || words[0] == "" || words[1] == "" {
		in.report("%d words; want from, to, and perhaps a rate and a latency", len(words))
		return
	}
	link := in.options.Link
	if len(words) > 2 && words[2] != "" {
		rate, err := units.ParseRate(words[2])
		if err != nil { // words are not quoted: the file may hold anything
			in.report("the third word is no rate; want one such as 400Gbps")
			return
		}
		link.Rate = float64(rate)
	}
	if len(words) > 3 && words[3] != "" {
		latency, err := units.ParseTime(words[3])
		if err != nil {
			in.report("the fourth word is no time; want one such as 500ns")
			return
		}
		link.Latency = latency
	}

	switch {
	case !(link.Rate > 0):
		in.report("the link has a rate of %g b/s; want one above 0, here or for all links", link.Rate)
		return
	case link.Latency < 0:
		in.report("the link has a latency of %v; want at least 0", link.Latency)
		return
	case words[0] == words[1]:
		in.report("a link from a node to itself")
		return
	}
	link.From, link.To = in.node(words[0]), in.node(words[1])
	in.links = append(in.links, link)
	if in.options.Undirected {
		link.From, link.To = link.To, link.From
		in.links = append(in.links, link)
	}
}

// node returns the number of a node name.
func (in *reader) node(name string) int32 {
	id, ok := in.ids[name]
	if !ok {
		id = int32(len(in.names))
		in.ids[name] = id
		in.names = append(in.names, name)
		in.allNumeric = in.allNumeric && nodeNumber(name) >= 0
	}
	return id
}

// nodeNumber returns the value of a name that is a number, -1 for other names and for numbers in
// a second spelling, such as 01.
func nodeNumber(name string) int {
	n, err := strconv.Atoi(name)
	if err != nil || n < 0 || strconv.Itoa(n) != name {
		return -1
	}
	return n
}

// graph numbers the nodes and builds the network.
func (in *reader) graph() (*Graph, error) {
	if len(in.links) == 0 {
		return nil, fmt.Errorf("%w: %s has no links", ErrList, in.name)
	}
	// If all names are numbers, a node has its name as number.
	names := in.names
	if in.allNumeric {
		names = make([]string, len(in.names))
		id := make([]int32, len(in.names))
		for i, name := range in.names {
			n := nodeNumber(name)
			if n >= len(names) {
				return nil, fmt.Errorf("%w: %s: %d nodes, one of them number %d; want them numbered from 0 without gaps, or named",
					ErrList, in.name, len(names), n)
			}
			id[i], names[n] = int32(n), name
		}
		for i := range in.links {
			l := &in.links[i]
			l.From, l.To = id[l.From], id[l.To]
		}
	}
	n := &engine.Network{Nodes: int32(len(names)), Links: slices.Clip(in.links)}
	n.ResourceNamer = func(r int32) string {
		if int(r) >= len(n.Links) {
			return fmt.Sprintf("group %d", int(r)-len(n.Links))
		}
		return fmt.Sprintf("link %d from %s to %s", r, names[n.Links[r].From], names[n.Links[r].To])
	}
	return &Graph{Network: n, Names: names}, n.Validate()
}
