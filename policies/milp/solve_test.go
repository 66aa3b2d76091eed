package milp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// available returns the solvers on the PATH, and skips the test without one.
func available(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, n := range Solvers() {
		if _, _, err := Find(n); err == nil {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		t.Skip(ErrNoSolver)
	}
	return names
}

// draw draws a small model with bounded integer and real columns.
func draw(t *rapid.T) *Model {
	m := &Model{Name: "drawn"}
	for i := range rapid.IntRange(1, 4).Draw(t, "integers") {
		low := rapid.IntRange(-2, 1).Draw(t, "low")
		up := low + rapid.IntRange(0, 3).Draw(t, "width")
		m.AddColumn(Column{Name: fmt.Sprintf("n%d", i), Low: float64(low), Up: float64(up), Integer: true, Cost: float64(rapid.IntRange(-5, 5).Draw(t, "cost"))})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "rows") {
		var terms []Term
		for c := range m.Columns {
			terms = append(terms, Term{c, float64(rapid.IntRange(-3, 3).Draw(t, "factor"))})
		}
		m.AddRow(fmt.Sprintf("r%d", i), Sense(rapid.IntRange(0, 2).Draw(t, "sense")), float64(rapid.IntRange(-4, 6).Draw(t, "right")), terms...)
	}
	return m
}

// bruteForce returns the optimum of a model with bounded integer columns by exhaustive search;
// +Inf if it is infeasible.
func bruteForce(m *Model) float64 {
	x := make([]float64, len(m.Columns))
	best := math.Inf(1)
	var try func(i int)
	try = func(i int) {
		if i == len(x) {
			if v, _ := m.Violation(x); v == 0 {
				best = min(best, m.Value(x))
			}
			return
		}
		for v := m.Columns[i].Low; v <= m.Columns[i].Up; v++ {
			x[i] = v
			try(i + 1)
		}
	}
	try(0)
	return best
}

// TestSolversAgreeWithExhaustion compares both solvers, via the files they read, with exhaustive
// search.
func TestSolversAgreeWithExhaustion(t *testing.T) {
	names := available(t)
	rapid.Check(t, func(r *rapid.T) {
		m := draw(r)
		want := bruteForce(m)
		if m.Check() != nil { // a row without terms that cannot hold
			return
		}
		for _, name := range names {
			s, err := Solve(context.Background(), m, Options{Solver: name})
			if err != nil {
				r.Fatalf("%s: %v", name, err)
			}
			switch {
			case math.IsInf(want, 1):
				if s.Status != Infeasible {
					r.Fatalf("%s: %+v of an infeasible model", name, s)
				}
			case s.Status != Optimal || math.Abs(s.Value-want) > 1e-6 || s.Bound > want+1e-6 || s.Bound < want-1e-6:
				r.Fatalf("%s: %+v, want %v", name, s, want)
			default:
				if v, row := m.Violation(s.Values); v > 1e-5 {
					r.Fatalf("%s: its point breaks %s by %v", name, row, v)
				}
			}
		}
	})
}

// knapsack returns a model whose solution takes some time.
func knapsack(n int) *Model {
	m := &Model{Name: "knapsack"}
	var weights [3][]Term
	for i := range n {
		c := m.AddColumn(Column{Name: fmt.Sprintf("x%d", i), Up: 1, Integer: true, Cost: -float64(1000 + (i*7919)%997)})
		for k := range weights {
			weights[k] = append(weights[k], Term{c, float64(900 + (i*(6007+k*1013)+k*331)%1009)})
		}
	}
	for k := range weights {
		m.AddRow(fmt.Sprintf("room%d", k), LessOrEqual, float64(n)*350, weights[k]...)
	}
	return m
}

func TestTimeLimit(t *testing.T) {
	for _, name := range available(t) {
		m := knapsack(200)
		start := make([]float64, len(m.Columns))
		start[7] = 1
		s, err := Solve(context.Background(), m, Options{Solver: name, TimeLimit: time.Second, Start: start})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Values == nil || s.Value > m.Value(start) || s.Bound > s.Value || math.IsInf(s.Bound, -1) {
			t.Errorf("%s: status %s, value %v, bound %v", name, s.Status, s.Value, s.Bound)
		}
	}
}

// TestGap verifies that a required gap ends the search.
func TestGap(t *testing.T) {
	for _, name := range available(t) {
		m := knapsack(60)
		s, err := Solve(context.Background(), m, Options{Solver: name, Gap: 0.05, TimeLimit: 20 * time.Second})
		if err != nil || s.Status != Optimal || s.Values == nil || (s.Value-s.Bound)/math.Abs(s.Value) > 0.05+1e-6 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestInterrupt(t *testing.T) {
	for _, name := range available(t) {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		begin := time.Now()
		_, err := Solve(ctx, knapsack(300), Options{Solver: name})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 5*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(begin))
		}
	}
}

// TestBrokenSolver verifies that a program that is not a solver is reported on one line.
func TestBrokenSolver(t *testing.T) {
	dir := t.TempDir()
	for _, b := range solvers {
		if err := os.WriteFile(filepath.Join(dir, b.name), []byte("#!/bin/sh\necho out of licences\nexit 3\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	for _, b := range solvers {
		_, err := Solve(context.Background(), knapsack(3), Options{Solver: b.name})
		if !errors.Is(err, ErrSolver) || !bytes.Contains([]byte(err.Error()), []byte("out of licences")) {
			t.Errorf("%s: %v", b.name, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Solve(context.Background(), knapsack(3), Options{}); !errors.Is(err, ErrNoSolver) {
		t.Errorf("without a solver: %v", err)
	}
}

func TestCheck(t *testing.T) {
	ok := Column{Name: "x", Up: 1}
	for _, m := range []*Model{
		{Columns: []Column{{Name: ""}}},
		{Columns: []Column{{Name: "a b", Up: 1}}},
		{Columns: []Column{ok, ok}},
		{Columns: []Column{{Name: "x", Low: 2, Up: 1}}},
		{Columns: []Column{{Name: "x", Low: math.NaN()}}},
		{Columns: []Column{ok}, Rows: []Row{{Name: "r"}}},
		{Columns: []Column{ok}, Rows: []Row{{Name: "r", Terms: []Term{{1, 1}}}}},
		{Columns: []Column{ok}, Rows: []Row{{Name: "r", Terms: []Term{{0, math.Inf(1)}}}}},
	} {
		if m.Check() == nil {
			t.Errorf("%+v passed", m)
		}
	}
}

// TestWrite compares both file formats with stored text.
func TestWrite(t *testing.T) {
	m := &Model{Name: "small"}
	x := m.AddColumn(Column{Name: "x", Up: math.Inf(1), Cost: 1})
	n := m.AddColumn(Column{Name: "n", Low: 1, Up: 7, Integer: true, Cost: -2.5})
	b := m.AddColumn(Column{Name: "b", Up: 1, Integer: true})
	m.AddColumn(Column{Name: "fixed", Low: 3, Up: 3})
	m.AddRow("sum", LessOrEqual, 12.5, Term{x, 2}, Term{n, -1}, Term{x, 1})
	m.AddRow("link", GreaterOrEqual, 0, Term{n, 1}, Term{b, -3})
	m.AddRow("gone", Equal, 0, Term{b, 1}, Term{b, -1})
	m.AddRow("same", Equal, -1, Term{b, -1}, Term{x, 0.125})
	var mps, lp bytes.Buffer
	if err := errors.Join(m.Check(), m.WriteMPS(&mps), m.WriteLP(&lp)); err != nil {
		t.Fatal(err)
	}
	const wantMPS = `NAME small FREE
ROWS
 N cost
 L sum
 G link
 E same
COLUMNS
 x cost 1
 x sum 3
 x same 0.125
 MARKER0 'MARKER' 'INTORG'
 n cost -2.5
 n sum -1
 n link 1
 b link -3
 b same -1
 MARKER1 'MARKER' 'INTEND'
 fixed cost 0
RHS
 RHS sum 12.5
 RHS same -1
BOUNDS
 LO BND n 1
 UP BND n 7
 BV BND b
 FX BND fixed 3
ENDATA
`
	if mps.String() != wantMPS {
		t.Errorf("MPS\n%s\nwant\n%s", &mps, wantMPS)
	}
	const wantLP = `\ small
Minimize
 cost: + 1 x - 2.5 n
Subject To
 sum: + 3 x - 1 n <= 12.5
 link: + 1 n - 3 b >= 0
 same: - 1 b + 0.125 x = -1
Bounds
 1 <= n <= 7
 fixed = 3
Generals
 n
Binaries
 b
End
`
	if lp.String() != wantLP {
		t.Errorf("LP\n%s\nwant\n%s", &lp, wantLP)
	}
}
