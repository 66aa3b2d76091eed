package collective

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

const (
	// maxDiagnostics limits the number of reported errors per file, so that they fit on a
	// screen.
	maxDiagnostics = 20
	// maxLineBytes limits the length of a row of a matrix. A row for the maximum number of
	// nodes, 2^14, can have 4 KiB per entry.
	maxLineBytes = 1 << 26
	// unknownSize is a valid message size for checks that precede the reading of sizes.
	unknownSize = 1
)

// ReadSizes reads an n x n matrix of comma-separated values. Row s, column d is the size
// of the message from node s to node d, in bytes or with a unit ("4MB"). Empty lines and
// comments starting with # are skipped. name is the name of the file, for messages.
//
// The error wraps ErrTraffic and lists up to maxDiagnostics errors with line and column,
// from 1. Errors are: a matrix that is not n x n, an entry that is negative or no size, a
// node that sends to itself, and a total that overflows.
func ReadSizes(r io.Reader, name string, n int) ([]int64, error) {
	if err := checkSizes(name, n, unknownSize); err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, n*n)
	var diagnostics []error
	report := func(line, column int, format string, args ...any) {
		if len(diagnostics) < maxDiagnostics {
			diagnostics = append(diagnostics,
				fmt.Errorf("%w: %s:%d:%d: %s", ErrTraffic, name, line, column, fmt.Sprintf(format, args...)))
		}
	}

	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLineBytes)
	row, line, total := 0, 0, int64(0) // row is the number of rows so far
	for scanner.Scan() {
		line++
		text := lineContent(scanner.Text(), line)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if row++; row > n {
			continue
		}

		// Check the entries of a row. Entries that are missing or too many are one error.
		entries := strings.Split(text, ",")
		if row == 1 && isHeader(entries) {
			return nil, fmt.Errorf("%w: %s:%d: the line is a header, and a matrix has sizes alone: leave it out",
				ErrTraffic, name, line)
		}
		if len(entries) != n {
			report(line, min(len(entries), n)+1, "a row of %d entries; want %d, one per node",
				len(entries), n)
		}
		for d, entry := range entries[:min(n, len(entries))] {
			b, problem := parseEntry(strings.TrimSpace(entry))
			if problem == "" {
				problem = entryProblem(b, row-1, d, &total)
			}
			if problem != "" {
				report(line, d+1, "%s", problem)
			}
			sizes = append(sizes, b)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("collective: %s:%d: %w", name, line+1, err)
	}

	if row != n {
		const firstColumn = 1
		report(line, firstColumn, "the matrix has %d rows; want %d, one per node", row, n)
	}
	if len(diagnostics) > 0 {
		return nil, errors.Join(diagnostics...)
	}
	return sizes, nil
}

// Entry is a nonzero entry of a sparse traffic matrix: the bytes that one node sends to
// another.
type Entry struct {
	Src, Dst int32
	Bytes    int64
}

// Entries returns the nonzero entries of an n x n matrix, row by row.
func Entries(n int, sizes []int64) (all []Entry) {
	for i, b := range sizes {
		if b != 0 {
			all = append(all, Entry{Src: int32(i / n), Dst: int32(i % n), Bytes: b})
		}
	}
	return all
}

// FromEntries returns the traffic of a matrix among n nodes. Entries of the same pair are
// added. Entries of nodes that are down are left out. It fails on invalid nodes, negative
// sizes, nodes that send to themselves, and a total that overflows.
func FromEntries(name string, n int, entries []Entry, down []bool) (*Traffic, error) {
	if err := checkNodes(name, n, unknownSize, down); err != nil {
		return nil, err
	}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
	})
	t := &Traffic{Name: name, Nodes: n}
	total := int64(0)
	for _, e := range entries {
		if e.Src < 0 || int(e.Src) >= n || e.Dst < 0 || int(e.Dst) >= n {
			return nil, fmt.Errorf("%w: %s: node %d sends to node %d; want nodes 0 to %d",
				ErrTraffic, name, e.Src, e.Dst, n-1)
		}
		if problem := entryProblem(e.Bytes, int(e.Src), int(e.Dst), &total); problem != "" {
			return nil, fmt.Errorf("%w: %s: entry %d of row %d: %s", ErrTraffic, name, e.Dst,
				e.Src, problem)
		}
		if e.Bytes == 0 || down != nil && (down[e.Src] || down[e.Dst]) {
			continue
		}
		f := engine.Flow{Src: e.Src, Dst: e.Dst}
		if last := len(t.Flows) - 1; last >= 0 && t.Flows[last] == f {
			t.Bytes[last] += e.Bytes
			continue
		}
		t.Flows, t.Bytes = append(t.Flows, f), append(t.Bytes, e.Bytes)
	}
	if err := t.checkNotEmpty(); err != nil {
		return nil, err
	}
	t.Message = slices.Max(t.Bytes)
	return t, nil
}

// FromSizes returns the traffic of an n x n matrix, as returned by ReadSizes. Zeros are
// not flows. Entries of nodes that are down are left out. It fails like ReadSizes.
func FromSizes(name string, n int, sizes []int64, down []bool) (*Traffic, error) {
	if err := checkNodes(name, n, unknownSize, down); err != nil {
		return nil, err
	}
	if len(sizes) != n*n {
		return nil, fmt.Errorf("%w: %s has %d entries; want %d, one per pair of nodes", ErrTraffic,
			name, len(sizes), n*n)
	}
	return FromEntries(name, n, Entries(n, sizes), down)
}

// entryColumns are the columns of a file of entries, named in its first line.
var entryColumns = []string{"from", "to", "bytes"}

// IsEntryList reports whether a file lists the entries of a matrix: its first nonempty
// line is "from,to,bytes".
func IsEntryList(data []byte) bool {
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		if text = strings.TrimSpace(lineContent(text, line)); text != "" {
			return slices.Equal(cells(text), entryColumns)
		}
	}
	return false
}

// cells returns the cells of a line in lower case without surrounding spaces.
func cells(text string) []string {
	all := strings.Split(strings.ToLower(text), ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// ReadEntries reads a list of matrix entries in comma-separated values. The first line is
// "from,to,bytes". Each further line has the source node, the destination node, both from
// 0, and a size as in ReadSizes. Empty lines and comments starting with # are skipped.
// name is the name of the file, for messages. The error wraps ErrTraffic and lists up to
// maxDiagnostics errors with their lines.
func ReadEntries(data []byte, name string) ([]Entry, error) {
	var all []Entry
	var diagnostics []error
	line, total, header := 0, int64(0), true
	for text := range strings.Lines(string(data)) {
		line++
		if text = strings.TrimSpace(lineContent(text, line)); text == "" {
			continue
		}
		if header {
			header = false
			continue
		}
		e, problem := parseEntryLine(text)
		if problem == "" {
			problem = entryProblem(e.Bytes, int(e.Src), int(e.Dst), &total)
		}
		if problem != "" && len(diagnostics) < maxDiagnostics {
			diagnostics = append(diagnostics, fmt.Errorf("%w: %s:%d: %s", ErrTraffic, name, line, problem))
		}
		all = append(all, e)
	}
	return all, errors.Join(diagnostics...)
}

// parseEntryLine parses a line of a file of entries, or returns a description of the
// problem.
func parseEntryLine(text string) (e Entry, problem string) {
	c := strings.Split(text, ",")
	if len(c) != len(entryColumns) {
		return e, fmt.Sprintf("%d cells; want %d: %s", len(c), len(entryColumns),
			strings.Join(entryColumns, ","))
	}
	for i, target := range []*int32{&e.Src, &e.Dst} {
		n, err := strconv.ParseInt(strings.TrimSpace(c[i]), 10, 32)
		if err != nil || n < 0 {
			return e, fmt.Sprintf("%q is no node; want a number from 0 on", strings.TrimSpace(c[i]))
		}
		*target = int32(n)
	}
	e.Bytes, problem = parseEntry(strings.TrimSpace(c[2]))
	return e, problem
}

// entryProblem describes the problem of an entry of b bytes from src to dst. If there is
// none, it adds b to total and returns "".
func entryProblem(b int64, src, dst int, total *int64) string {
	switch {
	case b < 0:
		return fmt.Sprintf("%d B is negative", b)
	case b > 0 && src == dst:
		return fmt.Sprintf("node %d sends %d B to itself; want 0", dst, b)
	case b > math.MaxInt64/8-*total: // the total in bits must fit an int64
		return "the matrix is more bytes than can be counted"
	}
	*total += b
	return ""
}

// lineContent returns a line without its comment and, for the first line, without the
// byte order mark with which spreadsheets start UTF-8 files.
func lineContent(text string, line int) string {
	if line == 1 {
		text = strings.TrimPrefix(text, "\uFEFF")
	}
	text, _, _ = strings.Cut(text, "#")
	return text
}

// CountRows returns the number of rows of a file that ReadSizes reads: lines that are
// neither empty nor a comment.
func CountRows(data []byte) int {
	rows, line := 0, 0
	for text := range strings.Lines(string(data)) {
		if line++; strings.TrimSpace(lineContent(text, line)) != "" {
			rows++
		}
	}
	return rows
}

// isHeader reports whether the first row of a file names columns: no entry starts like a
// number.
func isHeader(entries []string) bool {
	return !slices.ContainsFunc(entries, func(e string) bool {
		e = strings.TrimSpace(e)
		return e == "" || strings.ContainsRune("+-.0123456789", rune(e[0]))
	})
}

// parseEntry parses a size, or returns a description of the problem.
func parseEntry(text string) (int64, string) {
	if b, err := strconv.ParseInt(text, 10, 64); err == nil {
		return b, ""
	}
	b, err := units.ParseBytes(text)
	switch {
	case err != nil && strings.HasPrefix(text, "-"):
		return 0, "the entry is negative; write bytes, such as 4000000 or 4MB"
	case err != nil:
		return 0, "the entry is no size; write bytes, such as 4000000 or 4MB" // the entry is not quoted, because the file may contain anything
	}
	return int64(b), ""
}
