package milp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	// Log is told every line that the solver says; may be nil.
	Log func(line string)
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

// backend runs one solver.
type backend struct {
	name    string
	program string
	solve   func(ctx context.Context, program, dir string, m *Model, o *Options) (*Solution, error)
}

var backends = []backend{
	{"highs", "highs", solveHiGHS},
	{"cbc", "cbc", solveCBC},
}

// Solvers returns the names of the solvers that are supported.
func Solvers() []string {
	names := make([]string, len(backends))
	for i, b := range backends {
		names[i] = b.name
	}
	return names
}

// Find returns the path of a solver's program, or of any where name is "", and the solver's name. The error is, or
// wraps, ErrNoSolver.
func Find(name string) (path, solver string, err error) {
	known := false
	for _, b := range backends {
		if name != "" && name != b.name {
			continue
		}
		known = true
		if path, err := exec.LookPath(b.program); err == nil {
			return path, b.name, nil
		}
	}
	switch {
	case !known:
		return "", "", fmt.Errorf("milp: unknown solver %q; there are %s", name, strings.Join(Solvers(), " and "))
	case name != "":
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
	path, name, err := Find(o.Solver)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sim-milp-")
	if err != nil {
		return nil, fmt.Errorf("milp: %w", err)
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, modelName))
	if err != nil {
		return nil, fmt.Errorf("milp: %w", err)
	}
	if err := errors.Join(m.WriteMPS(f), f.Close()); err != nil {
		return nil, fmt.Errorf("milp: writing the model: %w", err)
	}
	for _, b := range backends {
		if b.name != name {
			continue
		}
		s, err := b.solve(ctx, path, dir, m, &o)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("milp: %s: %w", name, err)
		}
		if s.Values != nil {
			s.Value = m.Value(s.Values)
			s.Bound = min(s.Bound, s.Value)
		}
		return s, nil
	}
	return nil, ErrNoSolver
}

// Files that a solver reads and writes.
const (
	modelName    = "model.mps"
	startName    = "start.txt"
	solutionName = "solution.txt"
	optionsName  = "options.txt"
)

// run runs a solver's program in dir and returns what it says. Its children end with it.
func run(ctx context.Context, dir string, o *Options, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	isolate(cmd)
	var said strings.Builder
	log := &lineWriter{to: func(line string) {
		said.WriteString(line + "\n")
		if o.Log != nil {
			o.Log(line)
		}
	}}
	cmd.Stdout, cmd.Stderr = log, log
	err := cmd.Run()
	log.flush()
	if err != nil && ctx.Err() == nil {
		last := strings.TrimSpace(said.String())
		last = last[strings.LastIndexByte(last, '\n')+1:]
		return said.String(), fmt.Errorf("%w: %v; its last line was %q", ErrSolver, err, last)
	}
	return said.String(), nil
}

// lineWriter calls to for each line written.
type lineWriter struct {
	to   func(string)
	rest string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	text := w.rest + string(p)
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			break
		}
		w.to(strings.TrimRight(line, "\r"))
		text = rest
	}
	w.rest = text
	return len(p), nil
}

func (w *lineWriter) flush() {
	if w.rest != "" {
		w.to(w.rest)
	}
}

// threads returns how many the solver shall use.
func (o *Options) threads() int { return max(1, o.Threads) }
