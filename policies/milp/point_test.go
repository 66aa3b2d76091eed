package milp

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// byHand returns an optimal schedule of chain(ports), see TestChain.
func byHand(ports int) *Schedule {
	ms := func(all ...float64) []float64 {
		for i := range all {
			all[i] *= 1e-3
		}
		return all
	}
	mbit := func(all ...float64) []float64 {
		for i := range all {
			all[i] *= 1e6
		}
		return all
	}
	if ports == 2 {
		return &Schedule{
			Circuits: []int{1, 1}, Makespan: 36e-3, Start: ms(0, 1, 15, 4, 36), End: ms(1, 13, 35, 13, 36), Times: ms(0, 1, 4, 13, 15, 35),
			Sent: [][]float64{mbit(0, 0, 0, 0, 0), mbit(0, 3, 9, 0, 0), mbit(0, 0, 0, 0, 20), mbit(0, 0, 8, 0, 0), mbit(0, 0, 0, 0, 0)},
		}
	}
	return &Schedule{
		Circuits: []int{2, 2}, Makespan: 20e-3, Start: ms(0, 1, 9, 4, 20), End: ms(1, 7, 19, 9, 20), Times: ms(0, 1, 4, 7, 9, 19),
		Sent: [][]float64{mbit(0, 0, 0, 0, 0), mbit(0, 6, 6, 0, 0), mbit(0, 0, 0, 0, 20), mbit(0, 0, 4.8, 3.2, 0), mbit(0, 0, 0, 0, 0)},
	}
}

// TestPointByHand verifies models without a solver. The optimum by hand satisfies all rows and
// has its makespan as objective. A schedule that breaks one rule violates a row.
func TestPointByHand(t *testing.T) {
	for _, ports := range []int{2, 4} {
		for _, form := range []Form{{}, {Paper: true}, {Fair: true}} {
			v, err := NewVariableIntervalModel(chain(ports), form)
			if err != nil {
				t.Fatal(err)
			}
			violation := func(s *Schedule) (float64, string) {
				p, err := v.Point(s)
				if err != nil {
					t.Fatal(err)
				}
				return v.Violation(p)
			}
			s := byHand(ports)
			p, err := v.Point(s)
			if err != nil {
				t.Fatal(err)
			}
			if worst, name := v.Violation(p); worst > 1e-9 {
				t.Errorf("%d ports, %+v: the optimum breaks %s by %v", ports, form, name, worst)
			}
			if got := v.Seconds(v.Value(p)); math.Abs(got-s.Makespan) > 1e-12 {
				t.Errorf("%d ports, %+v: the optimum has value %v, want %v", ports, form, got, s.Makespan)
			}
			back := v.Schedule(p)
			for i := range s.Start {
				same := func(a, b float64) bool { return math.Abs(a-b) < 1e-9*(1+math.Abs(b)) }
				if !same(back.Start[i], s.Start[i]) || !same(back.End[i], s.End[i]) || !slices.EqualFunc(back.Sent[i], s.Sent[i], same) || !slices.EqualFunc(back.Times, s.Times, same) || !slices.Equal(back.Circuits, s.Circuits) {
					t.Errorf("%d ports: it is read back as %+v, want %+v", ports, back, s)
				}
			}
			for name, corrupt := range map[string]func(s *Schedule){
				"a makespan before the end":         func(s *Schedule) { s.Makespan -= 0.5e-3 },
				"b before the lag behind a":         func(s *Schedule) { s.Start[2] -= 0.5e-3 },
				"the end before the lag behind b":   func(s *Schedule) { s.Start[4] -= 0.5e-3; s.Makespan -= 0.5e-3 },
				"a before begin ends":               func(s *Schedule) { s.Start[1] -= 0.5e-3 },
				"a sends too little":                func(s *Schedule) { s.Sent[1][1] -= 1e6 },
				"a sends more than it has":          func(s *Schedule) { s.Sent[1][1] += 0.2e6; s.Sent[1][2] += 0.2e6 },
				"b sends more than its circuits do": func(s *Schedule) { s.Sent[2][4] += 1e6; s.Times[5] -= 0.5e-3; s.End[2] -= 0.5e-3 },
				"a circuit less":                    func(s *Schedule) { s.Circuits[1]-- },
				"a circuit beyond the ports":        func(s *Schedule) { s.Circuits[0]++ },
				"intervals backwards":               func(s *Schedule) { s.Times[2], s.Times[3] = s.Times[3], s.Times[2] },
				"c sends while it is idle":          func(s *Schedule) { s.Sent[3][1] += 1e6; s.Sent[3][2] -= 1e6 },
			} {
				s := byHand(ports)
				corrupt(s)
				if worst, _ := violation(s); worst < 1e-4 {
					t.Errorf("%d ports, %+v: %s breaks no row", ports, form, name)
				}
			}
			short := byHand(ports) // fewer intervals than the model has
			short.Times = short.Times[:2]
			if _, err := v.Point(short); err != nil {
				t.Error(err)
			}
			for _, corrupt := range []func(s *Schedule){
				func(s *Schedule) { s.Times = s.Times[:1] }, func(s *Schedule) { s.Times = append(s.Times, 1) },
				func(s *Schedule) { s.Circuits = s.Circuits[1:] }, func(s *Schedule) { s.Start = s.Start[1:] }, func(s *Schedule) { s.Sent = s.Sent[1:] },
			} {
				s := byHand(ports)
				corrupt(s)
				if _, err := v.Point(s); err == nil || !strings.Contains(err.Error(), "milp: a schedule of") {
					t.Errorf("a schedule of another size: %v", err)
				}
			}
			v.MinimisePorts(s.Makespan)
			if p, err = v.Point(s); err != nil {
				t.Fatal(err)
			}
			worst, _ := v.Violation(p)
			if got, want := v.Value(p), float64(2*s.Circuits[0]+2*s.Circuits[1]); got != want || worst > 1e-9 {
				t.Errorf("the optimum takes %v ports and breaks a row by %v, want %v", got, worst, want)
			}
			s.Makespan += 1e-3
			if worst, _ := violation(s); worst < 1e-4 {
				t.Error("a longer makespan is allowed with the fewest ports")
			}
		}
	}
	in := chain(2)
	in.Tasks[1].FirstInterval = 3 // active in the second interval by hand
	if v, err := NewVariableIntervalModel(in, Form{}); err != nil {
		t.Error(err)
	} else if _, err := v.Point(byHand(2)); err == nil || !strings.Contains(err.Error(), "a is active in interval 2") {
		t.Errorf("a task that is active too early: %v", err)
	}
}

// TestInvalidInstance verifies that every model rejects each invalid number.
func TestInvalidInstance(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		want    string
		corrupt func(in *Instance)
	}{
		{"", func(*Instance) {}},
		{"upper bound of 0", func(in *Instance) { in.Upper = 0 }},
		{"upper bound of -1", func(in *Instance) { in.Upper = -1 }},
		{"upper bound of NaN", func(in *Instance) { in.Upper = nan }},
		{"upper bound of +Inf", func(in *Instance) { in.Upper = math.Inf(1) }},
		{"task 1 (a) has a number", func(in *Instance) { in.Tasks[1].Bits = nan }},
		{"task 0 (begin) has a number", func(in *Instance) { in.Tasks[0].Duration = -1 }},
		{"task 2 (b) has a number", func(in *Instance) { in.Tasks[2].Head = -1 }},
		{"task 2 (b) has a number", func(in *Instance) { in.Tasks[2].Tail = math.Inf(1) }},
		{"takes bundle 2 of 2", func(in *Instance) { in.Tasks[1].Bundle = 2 }},
		{"takes bundle -1 of 2", func(in *Instance) { in.Tasks[1].Bundle = -1 }},
		{"at up to 0 bit/s", func(in *Instance) { in.Tasks[1].Rate = 0 }},
		{"over 0 flows", func(in *Instance) { in.Tasks[1].Flows = 0 }},
		{"uses NICs", func(in *Instance) { in.Tasks[1].Uses[0].Group = 6 }},
		{"uses NICs", func(in *Instance) { in.Tasks[1].Uses[0].Group = -1 }},
		{"uses NICs", func(in *Instance) { in.Tasks[1].Uses[0].Weight = 0 }},
		{"dependency", func(in *Instance) { in.Deps[0].From = -1 }},
		{"dependency", func(in *Instance) { in.Deps[0].From = 5 }},
		{"dependency", func(in *Instance) { in.Deps[0].To = -1 }},
		{"dependency", func(in *Instance) { in.Deps[0].To = 5 }},
		{"dependency", func(in *Instance) { in.Deps[0].Lag = -1 }},
		{"bundle 0 is", func(in *Instance) { in.Bundles[0].A = 3 }},
		{"bundle 0 is", func(in *Instance) { in.Bundles[0].A = -1 }},
		{"bundle 1 is", func(in *Instance) { in.Bundles[1].B = 3 }},
		{"bundle 1 is", func(in *Instance) { in.Bundles[1].B = -1 }},
		{"bundle 1 is", func(in *Instance) { in.Bundles[1].Ends = 0 }},
		{"bundle 1 is", func(in *Instance) { in.Bundles[1].MaxCircuits = 0 }},
		{"bundle 1 is", func(in *Instance) { in.Bundles[1].Rate = 0 }},
	} {
		in := chain(2)
		c.corrupt(in)
		_, variable := NewVariableIntervalModel(in, Form{})
		_, fixed := NewFixedStepModel(in, 1e-3, Form{})
		if (fixed == nil) != (c.want == "") {
			t.Errorf("fixed: %v, want %q", fixed, c.want)
		}
		for model, err := range map[string]error{"check": in.Check(), "variable": variable} {
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", model, err, c.want)
			}
		}
	}
	for _, intervals := range [][2]int{{0, 5}, {1, 6}, {4, 3}} {
		in := chain(2)
		in.Tasks[1].FirstInterval, in.Tasks[1].LastInterval = intervals[0], intervals[1]
		if _, err := NewVariableIntervalModel(in, Form{}); err == nil || !strings.Contains(err.Error(), "may be active in intervals") {
			t.Errorf("intervals %v: %v", intervals, err)
		}
	}
	in := chain(2)
	in.Tasks, in.Deps, in.Bundles = in.Tasks[:1], nil, nil
	if _, err := NewVariableIntervalModel(in, Form{}); err == nil || !strings.Contains(err.Error(), "5 slots of time and 0 bundles; want") {
		t.Errorf("without bundles: %v", err)
	}
}

// TestHeadsAndTails verifies the rows of heads and tails. They allow a schedule that meets them
// exactly. They exclude schedules that start a task earlier, or end a millisecond too early after
// it. A task may be active in a single interval.
func TestHeadsAndTails(t *testing.T) {
	s := byHand(2)
	exact := func() *Instance {
		in := chain(2)
		for i := range in.Tasks {
			in.Tasks[i].Head, in.Tasks[i].Tail = s.Start[i], max(0, s.Makespan-s.End[i])
		}
		in.Tasks[2].FirstInterval, in.Tasks[2].LastInterval = 5, 5
		return in
	}
	worst := func(in *Instance) float64 {
		v, err := NewVariableIntervalModel(in, Form{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := v.Point(s)
		if err != nil {
			t.Fatal(err)
		}
		broken, _ := v.Violation(p)
		for c, x := range p {
			broken = max(broken, v.Columns[c].Low-x, x-v.Columns[c].Up)
		}
		return broken
	}
	if got := worst(exact()); got > 1e-9 {
		t.Errorf("with exact heads and tails a row is broken by %v", got)
	}
	for i := range s.Start {
		in := exact()
		in.Tasks[i].Tail += 1e-3
		if worst(in) < 1e-3 {
			t.Errorf("%s may end too late", in.Tasks[i].Name)
		}
		in = exact()
		in.Tasks[i].Head += 1e-3
		if worst(in) < 1e-3 {
			t.Errorf("%s may start too soon", in.Tasks[i].Name)
		}
	}
}

// TestAddRow verifies that terms of one column are added, that terms that cancel are removed,
// and that a row without terms is removed if it always holds.
func TestAddRow(t *testing.T) {
	m := &Model{}
	x, y := m.AddColumn(Column{Name: "x", Up: 9}), m.AddColumn(Column{Name: "y", Up: 9})
	m.AddRow("sum", LessOrEqual, 7, Term{x, 1}, Term{y, 2}, Term{x, 2}, Term{y, -2})
	m.AddRow("always", LessOrEqual, 0, Term{x, 1}, Term{x, -1})
	m.AddRow("always, too", GreaterOrEqual, -1, Term{x, 1}, Term{x, -1})
	m.AddRow("never", GreaterOrEqual, 1, Term{x, 1}, Term{x, -1})
	m.AddRow("nor ever", Equal, -1, Term{x, 1}, Term{x, -1})
	m.AddRow("not", LessOrEqual, -1)
	var names []string
	for _, r := range m.Rows {
		names = append(names, r.Name)
	}
	if !slices.Equal(names, []string{"sum", "never", "nor ever", "not"}) || !slices.Equal(m.Rows[0].Terms, []Term{{x, 3}}) || len(m.Rows[1].Terms) != 0 {
		t.Errorf("rows are %+v", m.Rows)
	}
}
