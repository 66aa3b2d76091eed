// Package calibration fits profiles of machines (package machine) to measurements.
//
// Read turns the output of benchmarks into rows of the ledger (package accuracy), each format
// in a file of its own. Fit changes the numbers of a profile until the predictions of package
// accuracy agree with the rows. Therefore, a fitted profile and its validation rest on the same
// models.
//
// Begin reading with formats in read.go, then parameters in fit.go.
package calibration

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/scenarios/accuracy"
	"sim/scenarios/schema"
)

// format is a format of measurement files.
type format struct {
	doc string
	// matches reports whether data has the format.
	matches func(data []byte) bool
	// read returns the measurements of a file. Its errors are of type schema.Diagnostics.
	read func(name string, data []byte) ([]*accuracy.Row, error)
}

// formats are the formats in the order in which Read tries them.
var formats = []format{
	{"the text that nccl-tests or rccl-tests prints", isCollectiveTests, readCollectiveTests},
	{"the output of hipblaslt-bench", isHipBLASLt, readHipBLASLt},
	{"operator times of AICB", isOperators, readOperators},
	{"CSV in the columns of the ledger", isLedger, accuracy.Read},
	{"CSV with m,n,k and tflops or time_us", gemmTable.matches, gemmTable.read},
	{"CSV with seq,head_dim and tflops or time_us", attentionTable.matches, attentionTable.read},
	{"CSV with model,gpus and step_time_s", trainingLog.matches, trainingLog.read},
}

// Read returns the measurements of a file, whose format it detects by the content. Its errors
// are of type schema.Diagnostics.
func Read(name string, data []byte) ([]*accuracy.Row, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > accuracy.MaxFileBytes:
		return nil, fault(name, 0, fmt.Sprintf("is larger than %d MiB", accuracy.MaxFileBytes>>20), "divide it")
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fault(name, 0, "is empty", "repeat the measurement")
	}
	i := slices.IndexFunc(formats, func(f format) bool { return f.matches(data) })
	if i < 0 {
		return nil, fault(name, 1, "has an unknown format", "accepted are "+strings.Join(Formats(), "; "))
	}
	rows, err := formats[i].read(name, data)
	if err == nil && len(rows) == 0 {
		err = fault(name, 0, "has no rows", "it may be cut, or the test failed; repeat the measurement")
	}
	return rows, err
}

// isLedger reports whether data begins with the columns of the ledger.
func isLedger(data []byte) bool {
	head := splitCSV(firstLine(data))
	return slices.Contains(head, "parameters") && slices.Contains(head, "metric")
}

// fault returns the error for a line of a file, or for the whole file if line is 0.
func fault(name string, line int, problem, remedy string) error {
	return schema.Diagnostics{{File: name, Line: line, Problem: problem, Remedy: remedy}}
}

// firstLine returns the first line that is neither empty nor a comment.
func firstLine(data []byte) string {
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}

// positive parses a finite number greater than 0.
func positive(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v > 0 && !math.IsInf(v, 0)
}

// rowID returns the name of a row. Rows of one series differ only in their line.
func rowID(series string, line int) string { return fmt.Sprintf("%s-%03d", series, line) }

// Series returns the name of the series that a row belongs to: its name without the number at
// the end.
func Series(r *accuracy.Row) string {
	name := strings.TrimRight(r.ID, "0123456789")
	if name == r.ID || !strings.HasSuffix(name, "-") {
		return r.ID
	}
	return strings.TrimSuffix(name, "-")
}

// Formats returns the descriptions of all formats.
func Formats() (docs []string) {
	for _, f := range formats {
		docs = append(docs, f.doc)
	}
	return docs
}
