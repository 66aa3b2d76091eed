package calibration

// This file reads the text output of nccl-tests and rccl-tests.

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sim/scenarios/accuracy"
)

// collectiveTable is the output of one test.
type collectiveTable struct {
	file       string
	test       string // its program, such as all_reduce for all_reduce_perf; "" if unknown
	version    string // of NCCL; "" if unknown
	algorithm  string // that NCCL_ALGO forces; "" if NCCL chooses
	device     string // name of the GPUs; "" if unknown
	deviceLine int
	ranks      int             // listed ranks; 0 if there is no list
	hosts      map[string]bool // hosts of the ranks
	columns    []string        // names of the columns; nil before the line that has them
	rows       []collectiveRow
}

// collectiveRow is a row of a collectiveTable.
type collectiveRow struct {
	line           int
	size, count    float64 // bytes and elements
	elementBytes   float64
	redop, root    string
	microseconds   float64
	algbw, busbw   float64 // GB/s
	checked        bool    // the results of the first time were checked
	inPlaceChecked bool    // the results in place were checked
	inPlaceOnly    bool    // there is one time, in place
}

// testNames maps the programs of nccl-tests to the names of collectives.
var testNames = map[string]string{
	"all_reduce": "all-reduce", "all_gather": "all-gather", "reduce_scatter": "reduce-scatter", "alltoall": "all-to-all",
	"sendrecv": "send-recv", "broadcast": "broadcast", "reduce": "reduce", "gather": "gather", "scatter": "scatter",
}

// elementBytes are the sizes of nccl-tests' types.
var elementBytes = map[string]float64{
	"int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "half": 2, "float": 4, "double": 8,
	"bfloat16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1, "f8e4m3": 1, "f8e5m2": 1,
}

var (
	// launcherPrefix is what launchers put before the lines of a process.
	launcherPrefix = regexp.MustCompile(`^(\[[\d,]+\]<std\w+>:?|\d+:)\s?`)
	rankLine       = regexp.MustCompile(`^Rank\s+(\d+)\s.*\bPid\s+\d+\s+on\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s+(.*\S)`)
	testProgram    = regexp.MustCompile(`\b([a-z_]+)_perf\b`)
	forcedAlgo     = regexp.MustCompile(`\bNCCL_ALGO(?: set by environment to |=)([A-Za-z]+)`)
	ncclVersion    = regexp.MustCompile(`(?i)\bnccl version:? (\d[\w.+]*)`)
)

// isCollectiveTests reports whether data has a table of nccl-tests.
func isCollectiveTests(data []byte) bool {
	return bytes.Contains(data, []byte("algbw")) && bytes.Contains(data, []byte("busbw")) && bytes.Contains(data, []byte("redop")) ||
		bytes.Contains(data, []byte("# nThread ")) || bytes.Contains(data, []byte("rccl-tests: Version"))
}

// readCollectiveTests reads the output of one or several tests.
func readCollectiveTests(name string, data []byte) (rows []*accuracy.Row, err error) {
	const wholeOutput = "give the whole output of the test, to the line '# Avg bus bandwidth'"
	t := &collectiveTable{file: name}
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		text = launcherPrefix.ReplaceAllString(strings.TrimSpace(text), "")
		text = strings.TrimLeft(text, "# \t")
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0:
		case strings.HasPrefix(text, "Avg bus bandwidth"):
			part, err := t.finish(line)
			if err != nil {
				return nil, err
			}
			rows = append(rows, part...)
			t = &collectiveTable{file: name}
		case strings.HasPrefix(text, "nThread ") && (t.ranks > 0 || t.columns != nil):
			return nil, fault(name, line, "begins a test before the last one has ended", wholeOutput)
		case fields[0] == "size" && slices.Contains(fields, "algbw"):
			t.columns = fields
		case rankLine.MatchString(text):
			if err := t.addRank(line, rankLine.FindStringSubmatch(text)); err != nil {
				return nil, err
			}
		case t.columns != nil && isDigits(fields[0]):
			if err := t.addRow(line, fields); err != nil {
				return nil, err
			}
		default:
			if m := testProgram.FindStringSubmatch(text); m != nil && !strings.Contains(text, "concluded") {
				t.test = m[1]
			}
			if m := ncclVersion.FindStringSubmatch(text); m != nil {
				t.version = m[1]
			}
			if m := forcedAlgo.FindStringSubmatch(text); m != nil {
				t.algorithm = m[1]
			}
		}
	}
	if t.ranks > 0 || t.columns != nil {
		return nil, fault(name, line, "ends within a test", wholeOutput)
	}
	return rows, nil
}

// isDigits reports whether text has only decimal digits.
func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// addRank adds a line of the list of ranks. match is a match of rankLine.
func (t *collectiveTable) addRank(line int, match []string) error {
	rank, host, device := match[1], match[2], match[3]
	if n, err := strconv.Atoi(rank); err != nil || n != t.ranks {
		return fault(t.file, line, fmt.Sprintf("lists rank %s, want rank %d", rank, t.ranks), "give the whole output of one test")
	}
	if t.ranks > 0 && device != t.device {
		return fault(t.file, line, fmt.Sprintf("lists %q, and line %d %q", device, t.deviceLine, t.device),
			"a profile describes one kind of machine; measure each kind alone")
	}
	if t.ranks == 0 {
		t.device, t.deviceLine, t.hosts = device, line, map[string]bool{}
	}
	t.ranks++
	t.hosts[host] = true
	return nil
}

// addRow adds a row of the table.
func (t *collectiveTable) addRow(line int, fields []string) error {
	if len(fields) < len(t.columns) {
		return fault(t.file, line, fmt.Sprintf("has %d of %d columns", len(fields), len(t.columns)),
			"the file is cut; give the whole output of the test")
	}
	// field returns the first field of a column.
	field := func(column string) string {
		if i := slices.Index(t.columns, column); i >= 0 {
			return fields[i]
		}
		return ""
	}
	r := collectiveRow{line: line, redop: field("redop"), root: field("root"), elementBytes: elementBytes[field("type")]}
	if r.elementBytes == 0 {
		return fault(t.file, line, fmt.Sprintf("has the unknown type %q", field("type")), "accepted are "+
			strings.Join(slices.Sorted(maps.Keys(elementBytes)), ", "))
	}

	timeColumn := "time"
	if !slices.Contains(t.columns, timeColumn) {
		timeColumn = "cputime"
	}
	for column, value := range map[string]*float64{
		"size": &r.size, "count": &r.count, timeColumn: &r.microseconds, "algbw": &r.algbw, "busbw": &r.busbw,
	} {
		v, err := strconv.ParseFloat(field(column), 64)
		if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return fault(t.file, line, fmt.Sprintf("has the %s %q", column, field(column)), "want a number; give the output as the test prints it")
		}
		*value = v
	}
	if r.size == 0 {
		return nil // the size is too small for the ranks
	}
	if r.microseconds == 0 {
		return fault(t.file, line, "has the time 0", "repeat the measurement")
	}

	// If there are two columns of wrong elements, the last one counts results in place.
	const wrong = "#wrong"
	if n := slices.Index(t.columns, wrong); n >= 0 {
		last := len(t.columns) - 1
		for t.columns[last] != wrong {
			last--
		}
		r.inPlaceOnly = last == n
		r.checked, r.inPlaceChecked = fields[n] != "N/A", fields[last] != "N/A"
		for _, i := range []int{n, last} {
			if v, err := strconv.ParseFloat(fields[i], 64); fields[i] != "N/A" && (err != nil || v != 0) {
				return fault(t.file, line, fmt.Sprintf("has %s wrong elements", fields[i]), "the collective failed; repair the machine or the library and measure again")
			}
		}
	}
	t.rows = append(t.rows, r)
	return nil
}

// finish returns the measurements of the table, which ends at line.
func (t *collectiveTable) finish(line int) (rows []*accuracy.Row, err error) {
	if len(t.rows) == 0 {
		return nil, fault(t.file, line, "ends a test without rows", "repeat the measurement with larger sizes")
	}
	collective, err := t.collective()
	if err != nil {
		return nil, err
	}
	if err := t.findRanks(collective); err != nil {
		return nil, err
	}
	for _, r := range t.rows {
		if err := t.check(collective, &r); err != nil {
			return nil, err
		}
		p := accuracy.Parameters{
			"collective": collective, "size_bytes": strconv.FormatFloat(r.size, 'f', -1, 64),
			"busbw_GBps": strconv.FormatFloat(r.busbw, 'f', -1, 64),
		}
		if t.version != "" {
			p["nccl"] = t.version
		}
		if t.algorithm != "" {
			p["algo"] = t.algorithm
		}
		metric := "time_out_of_place"
		if r.inPlaceOnly {
			metric, p["inplace"] = "time", "yes"
		}
		rows = append(rows, &accuracy.Row{
			ID:     rowID(fmt.Sprintf("%s:%s-%d", t.file, collective, t.ranks), r.line),
			Source: t.file, Hardware: t.device, GPUs: t.ranks, Nodes: len(t.hosts),
			Parameters: p, Metric: metric, Value: r.microseconds, Unit: "us",
			Fitted: true, File: t.file, Line: r.line,
		})
	}
	return rows, nil
}

// collective returns the collective of the test. If the output does not name the program, the
// columns determine it: a gather counts the elements of one rank, and in-place results
// of all-to-all are never checked.
func (t *collectiveTable) collective() (string, error) {
	if name, ok := testNames[t.test]; ok {
		return name, nil
	}
	r := &t.rows[len(t.rows)-1]
	whole := r.size == r.count*r.elementBytes
	switch {
	case r.root != "-1" && r.redop == "none":
		return "broadcast", nil
	case r.root != "-1":
		return "reduce", nil
	case r.redop != "none" && whole:
		return "all-reduce", nil
	case r.redop != "none":
		return "reduce-scatter", nil
	case whole && math.Abs(r.busbw-r.algbw) <= 0.01*r.algbw:
		return "send-recv", nil
	case r.inPlaceChecked:
		return "all-gather", nil
	case r.checked:
		return "all-to-all", nil
	}
	return "", fault(t.file, t.rows[0].line, "is of an all-gather or an all-to-all", "write the command in a line before it, such as # ./all_gather_perf")
}

// findRanks computes the number of ranks if the output does not list them.
func (t *collectiveTable) findRanks(collective string) error {
	if t.ranks > 0 {
		return nil
	}
	// Large rates have few rounding errors.
	r := slices.MaxFunc(t.rows, func(a, b collectiveRow) int { return int(math.Copysign(1, a.busbw-b.busbw)) })
	n := r.size / (r.count * r.elementBytes) // of gathers
	switch factor := r.busbw / r.algbw; {
	case collective == "all-reduce":
		n = 2 / (2 - factor)
	case n == 1:
		n = 1 / (1 - factor)
	}
	if n = math.Round(n); !(n >= 2 && n <= maxRanks) {
		return fault(t.file, t.rows[0].line, "has no list of ranks before it", "give the whole output of the test")
	}
	t.ranks = int(n)
	return nil
}

// maxRanks limits the number of ranks that is computed from rates of two decimals.
const maxRanks = 4096

// check compares the columns of a row with each other. Files that were edited, or written by
// other tools, state sizes per rank.
func (t *collectiveTable) check(collective string, r *collectiveRow) error {
	n := float64(t.ranks)
	perRank := r.size == r.count*r.elementBytes // the size counts the data of one rank
	switch collective {
	case "all-gather", "reduce-scatter", "all-to-all", "gather", "scatter":
		if perRank && n > 1 {
			return fault(t.file, r.line, fmt.Sprintf("has the size of one of %d ranks", t.ranks), sizeRemedy(t.ranks))
		}
	}
	// The columns have two decimals.
	const minRate, tolerance = 1, 0.03
	if r.algbw < minRate {
		return nil
	}
	switch ratio := r.size / r.microseconds / 1e3 / r.algbw; {
	case math.Abs(ratio*n-1) < tolerance:
		return fault(t.file, r.line, fmt.Sprintf("has the size of one of %d ranks: size / time is 1/%d of algbw", t.ranks, t.ranks), sizeRemedy(t.ranks))
	case math.Abs(ratio-1) > tolerance:
		return fault(t.file, r.line, fmt.Sprintf("has algbw %g, and size / time is %.4g GB/s", r.algbw, r.size/r.microseconds/1e3),
			"give the output as the test prints it")
	}
	if want := accuracy.BusFactor(collective, t.ranks); math.Abs(r.busbw/r.algbw/want-1) > tolerance {
		return fault(t.file, r.line, fmt.Sprintf("has busbw / algbw = %.3g, and %s on %d ranks has %.3g", r.busbw/r.algbw, collective, t.ranks, want),
			"give the list of ranks and the rows of the same test")
	}
	return nil
}

// sizeRemedy is the remedy for sizes per rank.
func sizeRemedy(ranks int) string {
	return fmt.Sprintf("multiply the sizes by %d, as nccl-tests prints them", ranks)
}
