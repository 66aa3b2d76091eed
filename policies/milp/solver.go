package milp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options say how a model is solved. The zero value asks any solver for the optimum, without limit.
type Options struct {
	Solver    string        // "highs", "cbc", or "" for the first of them that is there
	TimeLimit time.Duration // wall-clock; 0 is none
	Gap       float64       // relative gap between incumbent and bound at which to stop
	AbsGap    float64       // absolute gap, likewise: whichever is met first
	Threads   int           // 0 is 1, with which both solvers repeat their runs
	Seed      uint64        // below 2^31
	// Start is a feasible point to start from, by column; nil is none.
	Start []float64
}

// Status is how a solver's run ended.
type Status string

// The ends of a run.
const (
	Optimal    Status = "optimal"    // within the gap asked for
	Stopped    Status = "stopped"    // by the time limit; there may be an incumbent
	Infeasible Status = "infeasible" // there is no solution
)

// Solution is what a solver found.
type Solution struct {
	Solver string // "highs" or "cbc", with its version where it tells
	Status Status
	Values []float64 // by column; nil if none was found
	Value  float64   // objective of Values, computed here
	Bound  float64   // proved lower bound on the objective; -Inf if none
}

// ErrNoSolver is returned where no solver is on the PATH.
var ErrNoSolver = errors.New("no MILP solver is on the PATH: install HiGHS (its program highs; pip install highsbox brings it) or CBC (apt-get install coinor-cbc)")

// ErrSolver is wrapped where a solver ran and did not say what it found.
var ErrSolver = errors.New("the MILP solver failed")

// solver is a program that solves models: how it is asked, and how what it says is read.
type solver struct {
	name string // and that of its program
	// arguments are those of the program, for a model at modelName, with files of options, of a point to start from if
	// there is one, and of the solution; options is the text of the first.
	arguments func(o *Options) []string
	options   func(o *Options) string
	start     func(b *bytes.Buffer, m *Model, x []float64)
	// version and result find themselves in what it says; bound the proved one at the end, which may be missing, and
	// progress, nil of none, that of each report before, both with an error of up to rounding.
	version, result, bound, progress *regexp.Regexp
	boundError                       float64
	// status is the end that a result means, "" of none.
	status           func(result, said string) Status
	checksExitStatus bool // its exit status counts, even where it tells a result
	// point is the part of a solution file that holds one, "" where it has none, with lines of which fields from the
	// given one on are a column's name and its value.
	point     func(text string) string
	nameField int
}

var solvers = []*solver{&highs, &cbc}

// Solvers returns the names of the solvers that are supported.
func Solvers() []string {
	names := make([]string, len(solvers))
	for i, s := range solvers {
		names[i] = s.name
	}
	return names
}

// Find returns the path of a solver's program, or of any where name is "", and the solver's name. The error is, or
// wraps, ErrNoSolver.
func Find(name string) (path, solverName string, err error) {
	if name != "" && !slices.Contains(Solvers(), name) {
		return "", "", fmt.Errorf("milp: unknown solver %q; there are %s", name, strings.Join(Solvers(), " and "))
	}
	for _, s := range solvers {
		if name != "" && name != s.name {
			continue
		}
		if path, err := exec.LookPath(s.name); err == nil {
			return path, s.name, nil
		}
	}
	if name != "" {
		return "", "", fmt.Errorf("%s: %w", name, ErrNoSolver)
	}
	return "", "", ErrNoSolver
}

// Solve has a solver on the PATH solve m. The error is ErrNoSolver where there is none, wraps ErrSolver where it fails,
// and is the context's where that ends, which ends the solver too.
func Solve(ctx context.Context, m *Model, o Options) (*Solution, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if o.Start != nil && len(o.Start) != len(m.Columns) {
		return nil, fmt.Errorf("milp: a start of %d values for %d columns", len(o.Start), len(m.Columns))
	}
	o.Threads = max(1, o.Threads)
	program, name, err := Find(o.Solver)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sim-milp-")
	if err != nil {
		return nil, fmt.Errorf("milp: %w", err)
	}
	defer os.RemoveAll(dir)
	backend := solvers[slices.Index(Solvers(), name)]
	if err := backend.write(dir, m, &o); err != nil {
		return nil, fmt.Errorf("milp: writing the model: %w", err)
	}
	s, err := backend.run(ctx, program, dir, m, &o)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("milp: %s: %w", name, err)
	}
	return s, nil
}

// Files that a solver reads and writes.
const (
	modelName    = "model.mps"
	startName    = "start.txt"
	solutionName = "solution.txt"
	optionsName  = "options.txt"
)

// write writes what the solver reads.
func (v *solver) write(dir string, m *Model, o *Options) error {
	var model, start bytes.Buffer
	_ = m.WriteMPS(&model) // which a buffer does not fail
	if o.Start != nil {
		v.start(&start, m, o.Start)
	}
	for name, text := range map[string][]byte{modelName: model.Bytes(), startName: start.Bytes(), optionsName: []byte(v.options(o))} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// run has the solver solve what was written to dir, and reads what it says of m. Its children end with it.
func (v *solver) run(ctx context.Context, program, dir string, m *Model, o *Options) (*Solution, error) {
	cmd := exec.CommandContext(ctx, program, v.arguments(o)...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	isolate(cmd)
	raw, failure := cmd.CombinedOutput()
	output := strings.ReplaceAll(string(raw), "\r\n", "\n")
	result := lastMatch(v.result, output)
	s := &Solution{Solver: v.name + " " + lastMatch(v.version, output), Status: v.status(result, output), Bound: math.Inf(-1)}
	switch {
	case failure != nil && (v.checksExitStatus || s.Status == ""):
		last := strings.TrimSpace(output)
		return nil, fmt.Errorf("%w: %v; its last line was %q", ErrSolver, failure, last[strings.LastIndexByte(last, '\n')+1:])
	case s.Status == "":
		return nil, fmt.Errorf("%w: it ended with %q", ErrSolver, result)
	case s.Status == Infeasible:
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, solutionName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %v", ErrSolver, err)
	}
	if point := v.point(string(text)); point != "" {
		if s.Values, err = readValues(point, m, v.nameField); err != nil {
			return nil, err
		}
		s.Value = m.Value(s.Values)
	}
	if bound, err := strconv.ParseFloat(lastMatch(v.bound, output), 64); err == nil {
		s.Bound = bound - v.boundError
	} else if s.Status == Optimal && s.Values != nil { // a linear program, or without a tree
		s.Bound = s.Value
	} else if bound, err := strconv.ParseFloat(lastMatch(v.progress, output), 64); err == nil {
		s.Bound = bound - v.boundError
	}
	if s.Values != nil {
		s.Bound = min(s.Bound, s.Value)
	}
	return s, nil
}

// lastMatch returns the group of the last match in a text, "" where there is none.
func lastMatch(re *regexp.Regexp, text string) string {
	if re == nil {
		return ""
	}
	all := re.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

// readValues reads lines of which one field is a column's name and the next its value; columns that no line names are
// 0.
func readValues(text string, m *Model, name int) ([]float64, error) {
	index := make(map[string]int, len(m.Columns))
	for i := range m.Columns {
		index[m.Columns[i].Name] = i
	}
	x := make([]float64, len(m.Columns))
	for line := range strings.Lines(text) {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "**")) // CBC marks what is infeasible
		if len(f) < name+2 {
			continue
		}
		i, ok := index[f[name]]
		v, err := strconv.ParseFloat(f[name+1], 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("%w: its solution has the line %q", ErrSolver, line)
		}
		x[i] = v
	}
	return x, nil
}
