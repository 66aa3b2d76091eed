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

// Options control how a model is solved. The zero value uses any solver without limits.
type Options struct {
	// Solver is "highs", "cbc", or "" for the first of them on the PATH.
	Solver    string
	TimeLimit time.Duration // wall-clock limit; 0 means none
	// Gap is the relative gap between incumbent and bound at which to stop.
	Gap float64
	// AbsGap is the absolute gap. The solver stops at the first of the two gaps that it reaches.
	AbsGap float64
	// Threads is the number of threads. 0 means 1, with which runs of both solvers are
	// repeatable.
	Threads int
	Seed    uint64 // below 2^31
	// Start is a feasible point to start from, indexed by column. It may be nil.
	Start []float64
}

// Status describes how the run of a solver ended.
type Status string

// Values of Status.
const (
	Optimal    Status = "optimal"    // the incumbent is within the required gap
	Stopped    Status = "stopped"    // by the time limit; there may be an incumbent
	Infeasible Status = "infeasible" // there is no solution
)

// Solution is the result of a solver.
type Solution struct {
	Solver string // "highs" or "cbc" with its version
	Status Status
	Values []float64 // indexed by column; nil if there is no incumbent
	Value  float64   // objective of Values, computed by this package
	// Bound is the proved lower bound on the objective; -Inf if no bound was proved.
	Bound float64
}

// ErrNoSolver is returned if no solver is on the PATH.
var ErrNoSolver = errors.New("no MILP solver is on the PATH: install HiGHS (its program highs; pip install highsbox brings it) or CBC (apt-get install coinor-cbc)")

// ErrSolver is wrapped if a solver ran but gave no valid result.
var ErrSolver = errors.New("the MILP solver failed")

// solver describes a program that solves models: its arguments and files, and the format of its
// output.
type solver struct {
	name string // of the solver and of its program
	// arguments returns the command line. The model is in modelName, options in optionsName, and
	// a point to start from, if any, in startName. The solution is written to solutionName.
	// options returns the text of the options file.
	arguments func(o *Options) []string
	options   func(o *Options) string
	start     func(b *bytes.Buffer, m *Model, x []float64) // writes a point to start from
	// Patterns for the output, whose last match counts. bound matches the proved bound at the
	// end, which may be missing. progress matches the bound of each earlier report; it may be
	// nil. Both have an error of up to boundError.
	version, result, bound, progress *regexp.Regexp
	boundError                       float64
	// status returns the status that a result means; "" if the result is unknown.
	status func(result, output string) Status
	// checksExitStatus reports whether a failing exit status counts even if there is a
	// result.
	checksExitStatus bool
	// point returns the part of a solution file that contains the values; "" if there is no such
	// part. In each line, nameField is the field with the column's name, and the next field is
	// the value.
	point     func(text string) string
	nameField int
}

// solvers lists the supported solvers in order of preference.
var solvers = []*solver{&highs, &cbc}

// Solvers returns the names of the supported solvers.
func Solvers() []string {
	names := make([]string, len(solvers))
	for i, s := range solvers {
		names[i] = s.name
	}
	return names
}

// Find returns the path of a solver's program and the solver's name. An empty name means any
// solver. The error is, or wraps, ErrNoSolver.
func Find(name string) (path, solverName string, err error) {
	if name != "" && !slices.Contains(Solvers(), name) {
		return "", "", fmt.Errorf("milp: unknown solver %q; want %s", name,
			strings.Join(Solvers(), " or "))
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

// Solve solves m with a solver on the PATH. The error is ErrNoSolver if no solver is installed,
// wraps ErrSolver if it fails, and is the error of ctx if that ends, which also ends the solver.
func Solve(ctx context.Context, m *Model, o Options) (*Solution, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if o.Start != nil && len(o.Start) != len(m.Columns) {
		return nil, fmt.Errorf("milp: start of %d values for %d columns", len(o.Start),
			len(m.Columns))
	}

	o.Threads = max(1, o.Threads)

	// The solver works in a directory of its own.
	program, name, err := Find(o.Solver)
	if err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp("", "sim-milp-")
	if err != nil {
		return nil, fmt.Errorf("milp: %w", err)
	}
	defer os.RemoveAll(dir)

	// Write the files, and run the program on them.
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

// Names of the files that a solver reads and writes.
const (
	modelName    = "model.mps"
	startName    = "start.txt"
	solutionName = "solution.txt"
	optionsName  = "options.txt"
)

// write writes the files that the solver reads.
func (v *solver) write(dir string, m *Model, o *Options) error {
	var model, start bytes.Buffer
	_ = m.WriteMPS(&model) // writing to a buffer does not fail
	if o.Start != nil {
		v.start(&start, m, o.Start)
	}

	for name, text := range map[string][]byte{
		modelName:   model.Bytes(),
		startName:   start.Bytes(),
		optionsName: []byte(v.options(o)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return err
		}
	}

	return nil
}

// outputDelay is the time to wait for the output of a solver after the end of ctx. A child that
// outlives the solver could keep the output open without it.
const outputDelay = 5 * time.Second

// run runs the solver on the files in dir and reads the result for m. The end of ctx also ends
// the solver's children.
func (v *solver) run(ctx context.Context, program, dir string, m *Model, o *Options) (*Solution, error) {
	// Run the program and parse its output.
	cmd := exec.CommandContext(ctx, program, v.arguments(o)...)
	cmd.Dir, cmd.WaitDelay = dir, outputDelay
	isolate(cmd)
	raw, failure := cmd.CombinedOutput()
	output := strings.ReplaceAll(string(raw), "\r\n", "\n")
	result := lastMatch(v.result, output)
	s := &Solution{
		Solver: v.name + " " + lastMatch(v.version, output),
		Status: v.status(result, output),
		Bound:  math.Inf(-1),
	}

	// Failures, and results without a solution.
	switch {
	case failure != nil && (v.checksExitStatus || s.Status == ""):
		last := strings.TrimSpace(output)
		return nil, fmt.Errorf("%w: %v; its last line was %q", ErrSolver, failure,
			last[strings.LastIndexByte(last, '\n')+1:])

	case s.Status == "":
		return nil, fmt.Errorf("%w: it ended with %q", ErrSolver, result)
	case s.Status == Infeasible:
		return s, nil
	}

	// The incumbent. A solver without one writes no file.
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

	// The proved bound: as reported at the end, or the optimum itself, or the last one reported
	// before.
	if bound, err := strconv.ParseFloat(lastMatch(v.bound, output), 64); err == nil {
		s.Bound = bound - v.boundError
	} else if s.Status == Optimal && s.Values != nil { // a linear program, or solved at the root
		s.Bound = s.Value
	} else if bound, err := strconv.ParseFloat(lastMatch(v.progress, output), 64); err == nil {
		s.Bound = bound - v.boundError
	}

	// Rounding of the printed bound must not put it above the incumbent.
	if s.Values != nil {
		s.Bound = min(s.Bound, s.Value)
	}
	return s, nil
}

// lastMatch returns the first group of the last match in a text; "" without a match.
func lastMatch(re *regexp.Regexp, text string) string {
	// The solver has no such line.
	if re == nil {
		return ""
	}
	all := re.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}

	return all[len(all)-1][1]
}

// readValues reads lines in which field name is a column's name and the next field its value.
// Columns that do not occur are 0.
func readValues(text string, m *Model, name int) ([]float64, error) {
	index := make(map[string]int, len(m.Columns))
	for i := range m.Columns {
		index[m.Columns[i].Name] = i
	}

	x := make([]float64, len(m.Columns))
	for line := range strings.Lines(text) {
		// CBC marks infeasible columns.
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "**"))
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
