package milp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// solveHiGHS runs HiGHS (https://highs.dev).
func solveHiGHS(ctx context.Context, program, dir string, m *Model, o *Options) (*Solution, error) {
	options := fmt.Sprintf("mip_rel_gap = %s\nmip_abs_gap = %s\nthreads = %d\nrandom_seed = %d\nwrite_solution_style = 0\n",
		number(o.Gap), number(o.AbsGap), o.threads(), o.Seed%(1<<31))
	args := []string{"--model_file", modelName, "--options_file", optionsName, "--solution_file", solutionName}
	if o.threads() == 1 {
		args = append(args, "--parallel", "off")
	}
	if o.TimeLimit > 0 {
		args = append(args, "--time_limit", number(o.TimeLimit.Seconds()))
	}
	if o.Start != nil {
		if err := put(dir, startName, func(w io.Writer) error { return writeHiGHSStart(w, m, o.Start) }); err != nil {
			return nil, err
		}
		args = append(args, "--read_solution_file", startName)
	}
	if err := os.WriteFile(filepath.Join(dir, optionsName), []byte(options), 0o666); err != nil {
		return nil, err
	}
	said, err := run(ctx, dir, o, program, args...)
	status := firstMatch(highsStatus, said)
	if err != nil && status == "" { // after a warning it exits with 1
		if o.TimeLimit > 0 && strings.Contains(said, "reached timeout") { // while it read the model
			return &Solution{Solver: "highs " + firstMatch(highsVersion, said), Status: Stopped, Bound: math.Inf(-1)}, nil
		}
		return nil, err
	}
	s := &Solution{Solver: "highs " + firstMatch(highsVersion, said), Bound: math.Inf(-1)}
	switch status {
	case "Optimal":
		s.Status = Optimal
	case "Time limit reached", "Interrupted by user", "Solution limit reached":
		s.Status = Stopped
	case "Infeasible", "Primal infeasible or unbounded":
		s.Status = Infeasible
		return s, nil
	default:
		return nil, fmt.Errorf("%w: it ended with status %q", ErrSolver, status)
	}
	if v, err := strconv.ParseFloat(firstMatch(highsBound, said), 64); err == nil {
		s.Bound = v
	}
	s.Values, err = readHiGHS(filepath.Join(dir, solutionName), m)
	if s.Bound == math.Inf(-1) && s.Status == Optimal && s.Values != nil { // a linear program, without a tree
		s.Bound = m.Value(s.Values)
	}
	return s, err
}

var (
	highsVersion = regexp.MustCompile(`(?m)^Running HiGHS (\S+)`)
	highsStatus  = regexp.MustCompile(`(?m)^\s*(?:Status|Model status\s*:)\s+(\S.*?)\s*$`)
	highsBound   = regexp.MustCompile(`(?m)^\s*Dual bound\s+(\S+)`)
)

func firstMatch(re *regexp.Regexp, text string) string {
	if f := re.FindStringSubmatch(text); f != nil {
		return f[1]
	}
	return ""
}

// put writes a file of dir.
func put(dir, name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// writeHiGHSStart writes a point in the format of HiGHS's solution files.
func writeHiGHSStart(w io.Writer, m *Model, x []float64) error {
	var b strings.Builder
	b.WriteString("Model status\nUnknown\n\n# Primal solution values\nFeasible\n")
	fmt.Fprintf(&b, "Objective %s\n# Columns %d\n", number(m.Value(x)), len(m.Columns))
	for i := range m.Columns {
		fmt.Fprintf(&b, "%s %s\n", m.Columns[i].Name, number(x[i]))
	}
	fmt.Fprintf(&b, "# Rows %d\n", len(m.Rows))
	for i := range m.Rows {
		v := 0.0
		for _, t := range m.Rows[i].Terms {
			v += t.Factor * x[t.Column]
		}
		fmt.Fprintf(&b, "%s %s\n", m.Rows[i].Name, number(v))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// readHiGHS reads the point of a solution file; nil where it holds none.
func readHiGHS(path string, m *Model) ([]float64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrSolver, err)
	}
	_, rest, ok := strings.Cut(string(data), "# Primal solution values\n")
	if !ok || !strings.HasPrefix(rest, "Feasible\n") {
		return nil, nil
	}
	_, rest, ok = strings.Cut(rest, "# Columns ")
	columns, _, closed := strings.Cut(rest, "\n# Rows ")
	if !ok || !closed {
		return nil, fmt.Errorf("%w: its solution has no columns", ErrSolver)
	}
	_, columns, _ = strings.Cut(columns, "\n") // their number
	return readValues(strings.Split(columns, "\n"), m, 0, 1)
}

// readValues reads lines of which one field is a column's name and one its value; columns that no line names are 0.
func readValues(lines []string, m *Model, name, value int) ([]float64, error) {
	at := make(map[string]int, len(m.Columns))
	for i := range m.Columns {
		at[m.Columns[i].Name] = i
	}
	x := make([]float64, len(m.Columns))
	for _, line := range lines {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "**")) // CBC marks what is infeasible
		if len(f) <= max(name, value) {
			continue
		}
		i, ok := at[f[name]]
		v, err := strconv.ParseFloat(f[value], 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("%w: its solution has the line %q", ErrSolver, line)
		}
		x[i] = v
	}
	return x, nil
}
