package milp

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// storedInstances returns the chain and seeded instances with transfers, steps, lags, NICs, and
// bundles to DP peer pods.
func storedInstances() []*Instance {
	all := []*Instance{chain(2), chain(4)}
	rng := rand.New(rand.NewPCG(1, 71))
	for range 10 {
		const rate = 1e9
		n := 2 + rng.IntN(3)
		in := &Instance{Pods: []int{3, 4, 3}, Groups: []float64{rate, rate / 2}, Upper: 0.05 + float64(rng.IntN(3))/100, Intervals: n + 1 + rng.IntN(2)}
		in.Bundles = []Bundle{{A: 0, B: 1, Ends: 1, Rate: rate, MaxCircuits: 3}, {A: 1, B: 2, Ends: 2, Rate: rate / 4, MaxCircuits: 2}, {A: 1, B: 1, Ends: 1, Rate: rate, MaxCircuits: 2}}
		for i := range n {
			flows := float64(1 + rng.IntN(3))
			b := rng.IntN(3)
			k := Task{
				Name: fmt.Sprint("m", i), Bits: float64(1+rng.IntN(12)) * 1e-3 * rate, Flows: flows, Bundle: b, Link: b,
				Uses: []Use{{rng.IntN(2), 1 / flows}}, Rate: flows * rate, FirstInterval: 1 + rng.IntN(2), LastInterval: in.Intervals - rng.IntN(2),
				Head: float64(rng.IntN(3)) * 1e-3, Tail: float64(rng.IntN(3)) * 1e-3,
			}
			if rng.IntN(4) == 0 {
				k = Task{Name: k.Name, Duration: float64(rng.IntN(4)) * 1e-3}
			}
			in.Tasks = append(in.Tasks, k)
			for j := range i {
				if rng.IntN(2) == 0 {
					in.Deps = append(in.Deps, Dependency{j, i, float64(rng.IntN(4)) * 1e-3})
				}
			}
		}
		all = append(all, in)
	}
	return all
}

// TestStoredModels compares the models of these instances with stored digests: all columns and
// rows, in each form, before and after MinimisePorts, and the schedule of a seeded point.
func TestStoredModels(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	for _, c := range []struct {
		name string
		// step is the length of slices; 0 selects the variable-interval model.
		step float64
		form Form
		want uint64
	}{
		{"variable", 0, Form{}, 0x1eea306e48e210c9},
		{"variable, fair", 0, Form{Fair: true}, 0x8c6c2a827d72640c},
		{"variable, paper", 0, Form{Paper: true}, 0x6a44534cfdda30b7},
		{"fixed", 4e-3, Form{}, 0x69423e4a7944503a},
		{"fixed, fair", 5e-3, Form{Fair: true}, 0xcb5a49020006da0b},
	} {
		digest := fnv.New64a()
		rng := rand.New(rand.NewPCG(2, 71))
		for i, in := range storedInstances() {
			var z *slotModel
			var schedule func(values []float64) *Schedule
			if c.step == 0 {
				v, err := NewVariableIntervalModel(in, c.form)
				if err != nil {
					t.Fatalf("%s of instance %d: %v", c.name, i, err)
				}
				z, schedule = &v.slotModel, v.Schedule
			} else {
				f, err := NewFixedStepModel(in, c.step, c.form)
				if err != nil {
					t.Fatalf("%s of instance %d: %v", c.name, i, err)
				}
				z, schedule = &f.slotModel, f.Schedule
			}
			m := z.Model
			write := func() {
				for _, x := range m.Columns {
					fmt.Fprintf(digest, "%s %.9g %.9g %v %.9g\n", x.Name, x.Low, x.Up, x.Integer, x.Cost)
				}
				for _, r := range m.Rows {
					fmt.Fprintf(digest, "%s %d %.9g", r.Name, r.Sense, r.Right)
					for _, term := range r.Terms {
						fmt.Fprintf(digest, " %d %.9g", term.Column, term.Factor)
					}
					fmt.Fprintln(digest)
				}
			}
			write()
			values := make([]float64, len(m.Columns))
			for k := range values {
				values[k] = float64(rng.IntN(4))
			}
			fmt.Fprintf(digest, "%.9g\n", []any{*schedule(values)})
			z.MinimisePorts(0.04)
			write()
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}

// TestFixedStepLimits verifies the limits of the number of slices, and that the instance must be
// valid.
func TestFixedStepLimits(t *testing.T) {
	for _, c := range []struct {
		step, upper float64
		want        string
	}{
		{0, 1, "want a positive length"},
		{-1, 1, "want a positive length"},
		{1, maxSlices + 1, "slices of 1 s in 100001 s; want"},
		{1, maxSlices, "0 bundles; want"},
	} {
		in := &Instance{Upper: c.upper}
		if _, err := NewFixedStepModel(in, c.step, Form{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("slices of %g in %g: %v, want %q", c.step, c.upper, err, c.want)
		}
	}
}

// TestReadValues verifies that the field after a column's name is its value, wherever the name
// is. Columns that do not occur are 0, short lines are skipped, and an invalid name or number
// gives an error that quotes the line.
func TestReadValues(t *testing.T) {
	m := &Model{Columns: []Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	for _, c := range []struct {
		text string
		name int
		want []float64 // nil means an error
	}{
		{"", 0, []float64{0, 0, 0}},
		{"b 2.5\na -1\n", 0, []float64{-1, 2.5, 0}},
		{"0 c 3 0\n", 1, []float64{0, 0, 3}},
		{"** 0 c 3 0\n1 a 1e3 7", 1, []float64{1000, 0, 3}},
		{"c\n\na 1\n", 0, []float64{1, 0, 0}},
		{"0 c\n", 1, []float64{0, 0, 0}},
		{"d 1\n", 0, nil},
		{"a x\n", 0, nil},
	} {
		got, err := readValues(c.text, m, c.name)
		if c.want == nil {
			if line := strings.TrimSpace(c.text); err == nil || !strings.Contains(err.Error(), line) {
				t.Errorf("%q: %v, want an error that quotes the line", c.text, err)
			}
		} else if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}
