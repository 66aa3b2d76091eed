// Package accuracy compares predictions of sim with published measurements of real machines.
//
// The ledger is a set of CSV files with one measurement per row, each with its source. Every
// row belongs to one class, such as large collectives or MoE training. The class poses the row
// as a scenario on the profile of the row's machine, so that the program that users run is what
// is validated. Rows that were used to fit a profile are marked and never counted as
// predictions.
//
// Read classes.go first: a class is one row of the table classes and one file.
package accuracy

import (
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"sync"

	"sim/scenarios/schema"
)

// Row is one measurement.
type Row struct {
	ID         string
	Source     string // where the value was published
	Hardware   string // description of the machine, in the words of the source
	GPUs       int    // 0 if unknown
	Nodes      int    // 0 if unknown
	Parameters Parameters
	Metric     string  // name of the measured quantity, such as time_out_of_place
	Value      float64 // in Unit; NaN if the source only gives a bound or an order of magnitude
	Unit       string
	Fitted     bool // profiles of machines may be fitted to the row

	File string // for messages
	Line int
}

// Parameters are the conditions of a measurement, such as size_bytes=1024, by name.
type Parameters map[string]string

// Number returns a parameter that is a number greater than 0. The error is a reason why a row
// cannot be posed.
func (p Parameters) Number(name string) (float64, error) {
	text, ok := p[name]
	if !ok {
		return 0, fmt.Errorf("the row does not state %s", name)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("the row has %s=%s, not a number greater than 0", name, schema.Clip(text, maxQuoted))
	}
	return v, nil
}

// Count returns a parameter that is a positive integer. If the row does not state it, or states
// "n/a" or "?", Count returns the value missing.
func (p Parameters) Count(name string, missing int) (int, error) {
	if unknown(p[name]) {
		return missing, nil
	}
	v, err := p.Number(name)
	if err == nil && (v != math.Trunc(v) || v > math.MaxInt32) {
		err = fmt.Errorf("the row has %s=%s, not a count", name, p[name])
	}
	return int(v), err
}

// unknown reports whether the text of a field says that its value is unknown.
func unknown(text string) bool { return text == "" || text == "?" || text == "n/a" }

// maxQuoted limits the bytes of a field that a message quotes.
const maxQuoted = 60

//go:embed ledger/*.csv
var embedded embed.FS

// Ledger returns the measurements of the project, file by file. Callers must not change them.
var Ledger = sync.OnceValue(func() (rows []*Row) {
	files, err := fs.Glob(embedded, "ledger/*.csv")
	for _, file := range files {
		data, errRead := embedded.ReadFile(file)
		part, errRows := Read(path.Base(file), data)
		err = errors.Join(err, errRead, errRows)
		rows = append(rows, part...)
	}
	if err != nil {
		panic(err) // TestLedger reads all files
	}
	return rows
})

// MaxFileBytes limits a file of measurements.
const MaxFileBytes = 16 << 20

// columns are the columns of a file of measurements that Read needs, in any order. It ignores
// all other columns.
var columns = []string{"id", "hardware", "gpus", "nodes", "parameters", "metric", "value", "unit"}

// sameSource is the source of a row that has the source of the row before it.
const sameSource = "same"

// Read reads a file of measurements in the format of the ledger. Its errors are of type
// schema.Diagnostics, with at least one line per problem.
func Read(name string, data []byte) ([]*Row, error) {
	var faults schema.Diagnostics
	fault := func(line int, column, problem, remedy string) {
		faults = append(faults, schema.Diagnostic{File: name, Line: line, Key: column, Problem: problem, Remedy: remedy})
	}

	// Find the columns.
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	head, err := r.Read()
	if err != nil {
		fault(0, "", "has no line with the names of columns", "begin it with "+strings.Join(columns, ","))
		return nil, faults
	}
	index := map[string]int{}
	for i, column := range head {
		index[strings.TrimSpace(column)] = i
	}
	for _, column := range columns {
		if _, ok := index[column]; !ok {
			fault(1, column, "this column is missing", "the first line names at least "+strings.Join(columns, ","))
		}
	}
	if faults != nil {
		return nil, faults
	}

	// Read the rows.
	var rows []*Row
	for {
		fields, err := r.Read()
		if err == io.EOF {
			break
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			problem := bad.Err.Error()
			if errors.Is(err, csv.ErrFieldCount) {
				problem = fmt.Sprintf("has %d fields, the first line has %d", len(fields), len(head))
			}
			fault(bad.StartLine, "", problem, "the file may be cut; write it again")
			break
		}
		line, _ := r.FieldPos(0)
		field := func(column string) string {
			if i, ok := index[column]; ok {
				return strings.TrimSpace(fields[i])
			}
			return ""
		}
		row := &Row{
			ID: field("id"), Source: field("source"), Hardware: field("hardware"),
			Parameters: parseParameters(field("parameters")), Metric: field("metric"), Unit: field("unit"),
			Fitted: field("split") == "fit", File: name, Line: line,
		}
		// count reads a count, which is 0 if it is unknown.
		count := func(column string) (n int) {
			if text := field(column); !unknown(text) {
				if n, err = strconv.Atoi(text); err != nil || n < 0 || n > math.MaxInt32 {
					fault(line, column, schema.Quote(text)+" is not a count", "write a whole number, or ? if it is unknown")
				}
			}
			return n
		}
		row.GPUs, row.Nodes = count("gpus"), count("nodes")
		if row.Source == sameSource && len(rows) > 0 {
			row.Source = rows[len(rows)-1].Source
		}
		if row.ID == "" {
			fault(line, "id", "is empty", "give each row a name")
		}
		if row.Value, err = parseValue(field("value"), row.Unit); err != nil {
			fault(line, "value", err.Error(), "write the value alone; the unit has its own column")
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 && faults == nil {
		fault(0, "", "has no rows", "the file may be cut; write it again")
	}
	if faults != nil {
		return nil, faults.Sorted()
	}
	return rows, nil
}

// parseParameters parses "name=value;name=value". The value of a name alone is empty.
func parseParameters(text string) Parameters {
	out := Parameters{}
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); name != "" {
			out[name] = strings.TrimSpace(value)
		}
	}
	return out
}

// parseValue parses a measured value. A bound such as >90, an approximation such as ~1 and a
// unit of unit "order" are no numbers: their value is NaN.
func parseValue(text, unit string) (float64, error) {
	if unit == "order" || text != "" && strings.ContainsRune("<>~", rune(text[0])) {
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return v, fmt.Errorf("%s is not a number", schema.Quote(text))
	}
	return v, nil
}
