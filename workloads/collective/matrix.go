package collective

import (
	"bufio"
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

// maxDiagnostics is how many diagnostics of a file are told.
const maxDiagnostics = 20

// ReadSizes reads an n x n matrix of comma-separated values: a line a source, in each an entry a destination, in bytes
// or with a unit ("4MB"). Empty lines and what follows # are skipped. Name is the file's, for messages. Error:
// ErrTraffic with all diagnostics of the file, each with line and column (of the table, from 1 on), where the matrix is
// not n x n, an entry is negative or no size, a node sends to itself, or the bytes are more than can be counted.
func ReadSizes(r io.Reader, name string, n int) ([]int64, error) {
	if err := checkSizes(name, n, 1); err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, n*n)
	var diagnostics []error
	report := func(line, column int, format string, of ...any) {
		if len(diagnostics) < maxDiagnostics {
			diagnostics = append(diagnostics, fmt.Errorf("%w: %s:%d:%d: %s", ErrTraffic, name, line, column, fmt.Sprintf(format, of...)))
		}
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<26)
	row, line, total := 0, 0, int64(0)
	for in.Scan() {
		line++
		text := lineOf(in.Text(), line)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if row++; row > n {
			continue
		}
		entries := strings.Split(text, ",")
		if row == 1 && isHeader(entries) {
			return nil, fmt.Errorf("%w: %s:%d: the line is a header, and a matrix has sizes alone: leave it out", ErrTraffic, name, line)
		}
		if len(entries) != n {
			report(line, min(len(entries), n)+1, "a row of %d entries; want %d, one a node", len(entries), n)
		}
		for d, entry := range entries[:min(n, len(entries))] {
			b, wrong := parseEntry(strings.TrimSpace(entry))
			if wrong == "" {
				wrong = wrongSize(b, row-1, d, &total)
			}
			if wrong != "" {
				report(line, d+1, "%s", wrong)
			}
			sizes = append(sizes, b)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("collective: %s:%d: %w", name, line+1, err)
	}
	if row != n {
		report(line, 1, "the matrix has %d rows; want %d, one a node", row, n)
	}
	if len(diagnostics) > 0 {
		return nil, errors.Join(diagnostics...)
	}
	return sizes, nil
}

// OfSizes is the traffic of sizes among n nodes, row by row as ReadSizes has them. A zero is no flow; those of nodes
// that are down are left out. It fails where ReadSizes does.
func OfSizes(name string, n int, sizes []int64, down []bool) (*Traffic, error) {
	if err := check(name, n, 1, down); err != nil {
		return nil, err
	}
	if len(sizes) != n*n {
		return nil, fmt.Errorf("%w: %s has %d entries; want %d, one a pair of nodes", ErrTraffic, name, len(sizes), n*n)
	}
	t := &Traffic{Name: name, Nodes: n}
	total := int64(0)
	for i, b := range sizes {
		s, d := i/n, i%n
		if wrong := wrongSize(b, s, d, &total); wrong != "" {
			return nil, fmt.Errorf("%w: %s: entry %d of row %d: %s", ErrTraffic, name, d, s, wrong)
		}
		if b > 0 && (down == nil || !down[s] && !down[d]) {
			t.Flows, t.Bytes = append(t.Flows, engine.Flow{Src: int32(s), Dst: int32(d)}), append(t.Bytes, b)
		}
	}
	if err := t.some(); err != nil {
		return nil, err
	}
	t.Message = slices.Max(t.Bytes)
	return t, nil
}

// wrongSize says what is wrong with the bytes from a node to another, if anything is, and else adds them to the total.
func wrongSize(b int64, src, dst int, total *int64) string {
	switch {
	case b < 0:
		return fmt.Sprintf("%d B is negative", b)
	case b > 0 && src == dst:
		return fmt.Sprintf("node %d sends %d B to itself; want 0", dst, b)
	case b > math.MaxInt64/8-*total:
		return "the matrix is more bytes than can be counted"
	}
	*total += b
	return ""
}

// lineOf returns what counts of a line: not a comment, nor of the first the mark of UTF-8 that spreadsheets begin files
// with.
func lineOf(text string, line int) string {
	if line == 1 {
		text = strings.TrimPrefix(text, "\uFEFF")
	}
	text, _, _ = strings.Cut(text, "#")
	return text
}

// CountRows returns the rows of a file that ReadSizes reads: lines that are neither empty nor a comment.
func CountRows(data []byte) int {
	rows, line := 0, 0
	for text := range strings.Lines(string(data)) {
		if line++; strings.TrimSpace(lineOf(text, line)) != "" {
			rows++
		}
	}
	return rows
}

// isHeader reports whether the first row of a file names columns: none of its entries begins as a number would.
func isHeader(entries []string) bool {
	return !slices.ContainsFunc(entries, func(e string) bool {
		e = strings.TrimSpace(e)
		return e == "" || strings.ContainsRune("+-.0123456789", rune(e[0]))
	})
}

// parseEntry reads a size, or says what is wrong with it.
func parseEntry(text string) (int64, string) {
	if b, err := strconv.ParseInt(text, 10, 64); err == nil {
		return b, ""
	}
	b, err := units.ParseBytes(text)
	switch {
	case err != nil && strings.HasPrefix(text, "-"):
		return 0, "the entry is negative; write bytes, such as 4000000 or 4MB"
	case err != nil:
		return 0, "the entry is no size; write bytes, such as 4000000 or 4MB" // which is not quoted: the file may hold anything
	}
	return int64(b), ""
}
