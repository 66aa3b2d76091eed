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

// maxFaults is how many faults of a file are told.
const maxFaults = 20

// ReadMatrix reads traffic from a file of comma-separated values: a line a source,
// in each an entry a destination, in bytes or with a unit ("64KB"). Empty lines
// and what follows # are skipped. A zero is no flow; entries of nodes that are
// down are left out. Name is the file's, for messages. It fails, with all faults
// of the file, where the matrix is not nodes x nodes, an entry is negative or no
// size, or a node sends to itself.
func ReadMatrix(r io.Reader, name string, nodes int, down []bool) (*Traffic, error) {
	if err := check(name, nodes, 1, down); err != nil {
		return nil, err
	}
	t := &Traffic{Name: name, Nodes: nodes}
	var faults []error
	fault := func(line int, format string, of ...any) {
		if len(faults) < maxFaults {
			faults = append(faults, fmt.Errorf("%w: %s:%d: %s", ErrTraffic, name, line, fmt.Sprintf(format, of...)))
		}
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<26)
	row, total := 0, int64(0)
	line := 0
	for in.Scan() {
		line++
		text := lineOf(in.Text(), line)
		if strings.TrimSpace(text) == "" {
			continue
		}
		entries := strings.Split(text, ",")
		if row == 0 && isHeader(entries) {
			return nil, headerFault(name, line, entries)
		}
		if row < nodes && len(entries) != nodes {
			fault(line, "a row of %d entries; want %d, one a node", len(entries), nodes)
		}
		if row >= nodes {
			row++
			continue
		}
		for d, entry := range entries[:min(nodes, len(entries))] {
			b, wrong := parseEntry(strings.TrimSpace(entry))
			switch {
			case wrong != "":
				fault(line, "entry %d: %s", d, wrong)
			case b > 0 && d == row:
				fault(line, "entry %d: node %d sends %d B to itself; want 0", d, d, b)
			case b > math.MaxInt64/8-total:
				fault(line, "entry %d: the matrix is more bytes than can be counted", d)
			case b > 0 && (down == nil || !down[row] && !down[d]):
				total += b
				t.Flows, t.Bytes = append(t.Flows, engine.Flow{Src: int32(row), Dst: int32(d)}), append(t.Bytes, b)
			}
		}
		row++
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("collective: %s:%d: %w", name, line+1, err)
	}
	if row != nodes {
		fault(line, "the matrix has %d rows; want %d, one a node", row, nodes)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if err := t.some(); err != nil {
		return nil, err
	}
	t.Message = slices.Max(t.Bytes)
	return t, nil
}

// lineOf returns what counts of a line: not a comment, nor of the first the mark
// of UTF-8 that spreadsheets begin files with.
func lineOf(text string, line int) string {
	if line == 1 {
		text = strings.TrimPrefix(text, "\uFEFF")
	}
	text, _, _ = strings.Cut(text, "#")
	return text
}

// CountRows returns the rows of a file that ReadMatrix or ReadSizes reads: lines
// that are neither empty nor a comment.
func CountRows(data []byte) int {
	rows, line := 0, 0
	for text := range strings.Lines(string(data)) {
		if line++; strings.TrimSpace(lineOf(text, line)) != "" {
			rows++
		}
	}
	return rows
}

// isHeader reports whether the first row of a file names columns: none of its entries
// begins as a number would.
func isHeader(entries []string) bool {
	return !slices.ContainsFunc(entries, func(e string) bool {
		e = strings.TrimSpace(e)
		return e == "" || strings.ContainsRune("+-.0123456789", rune(e[0]))
	})
}

func headerFault(name string, line int, entries []string) error {
	return fmt.Errorf("%w: %s:%d: %q begins a header, and a matrix has sizes alone: leave the line out", ErrTraffic, name, line, strings.TrimSpace(entries[0]))
}

// parseEntry reads a size, or says what is wrong with it.
func parseEntry(text string) (int64, string) {
	if b, err := strconv.ParseInt(text, 10, 64); err == nil {
		if b < 0 {
			return 0, fmt.Sprintf("%d B is negative", b)
		}
		return b, ""
	}
	b, err := units.ParseBytes(text)
	if err != nil {
		return 0, err.Error()
	}
	return int64(b), ""
}
