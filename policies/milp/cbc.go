package milp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// solveCBC runs CBC (https://github.com/coin-or/Cbc).
func solveCBC(ctx context.Context, program, dir string, m *Model, o *Options) (*Solution, error) {
	args := []string{modelName}
	if o.TimeLimit > 0 {
		args = append(args, "-sec", number(o.TimeLimit.Seconds()), "-timeMode", "elapsed")
	}
	args = append(args, "-ratio", number(o.Gap), "-allow", number(max(o.AbsGap, 1e-9)), "-randomCbcSeed", strconv.FormatUint(o.Seed%(1<<31), 10))
	if o.threads() > 1 {
		args = append(args, "-threads", strconv.Itoa(o.threads()))
	}
	if o.Start != nil { // after limits and gap, which it would forget
		if err := put(dir, startName, func(w io.Writer) error { return writeCBCStart(w, m, o.Start) }); err != nil {
			return nil, err
		}
		args = append(args, "-mips", startName)
	}
	said, err := run(ctx, dir, o, program, append(args, "-solve", "-solution", solutionName)...)
	if err != nil {
		return nil, err
	}
	s := &Solution{Solver: "cbc " + firstMatch(cbcVersion, said), Bound: math.Inf(-1)}
	result := firstMatch(cbcResult, said)
	switch {
	case strings.HasPrefix(result, "Optimal solution found"):
		s.Status = Optimal
	case strings.HasPrefix(result, "Stopped on"), strings.HasPrefix(result, "User ctrl-cuser"):
		s.Status = Stopped
	case strings.Contains(result, "infeasible"), strings.Contains(said, "Problem is infeasible"),
		strings.Contains(said, "Pre-processing says infeasible"):
		s.Status = Infeasible
		return s, nil
	case strings.Contains(said, "Optimal - objective value"): // a linear program
		s.Status = Optimal
	default:
		return nil, fmt.Errorf("%w: it ended with %q", ErrSolver, result)
	}
	s.Values, err = readCBC(filepath.Join(dir, solutionName), m)
	if err != nil {
		return nil, err
	}
	if v, err := strconv.ParseFloat(firstMatch(cbcBound, said), 64); err == nil {
		s.Bound = v - cbcRounding
	} else if s.Status == Optimal && s.Values != nil {
		s.Bound = m.Value(s.Values)
	} else if all := cbcPossible.FindAllStringSubmatch(said, -1); all != nil { // of the last progress report
		if v, err := strconv.ParseFloat(all[len(all)-1][1], 64); err == nil {
			s.Bound = v - cbcRounding
		}
	}
	return s, nil
}

// cbcRounding is what the three decimals of a bound in CBC's log may have added.
const cbcRounding = 5e-4

var (
	cbcVersion  = regexp.MustCompile(`(?m)^Version: (\S+)`)
	cbcResult   = regexp.MustCompile(`(?m)^Result - (.*?)\s*$`)
	cbcBound    = regexp.MustCompile(`(?m)^Lower bound:\s+(\S+)`)
	cbcPossible = regexp.MustCompile(`best possible (\S+?)[,)\s]`)
)

// writeCBCStart writes a point in the format of CBC's solution files.
func writeCBCStart(w io.Writer, m *Model, x []float64) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Feasible - objective value %s\n", number(m.Value(x)))
	for i := range m.Columns {
		fmt.Fprintf(&b, "%d %s %s 0\n", i, m.Columns[i].Name, number(x[i]))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// readCBC reads the point of a solution file; nil where it holds none.
func readCBC(path string, m *Model) ([]float64, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrSolver, err)
	}
	head, rest, _ := strings.Cut(string(data), "\n")
	if strings.Contains(head, "no integer solution") || strings.Contains(head, "nfeasible") || strings.TrimSpace(rest) == "" {
		return nil, nil
	}
	return readValues(strings.Split(rest, "\n"), m, 1, 2)
}
