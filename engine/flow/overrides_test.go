package flow_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// TestOverridesAgainstRun: an evaluator with other durations and changes that has simulated
// before returns the same results as Run on a graph and network with these values. Its origin
// and clones made before keep the old values; clones made afterwards have the new ones.
func TestOverridesAgainstRun(t *testing.T) {
	eachService(t, func(t *testing.T, s flow.Service) {
		rapid.Check(t, func(t *rapid.T) {
			in := drawInstance(t, shape{tasks: 10, changes: rapid.Bool().Draw(t, "changing")})
			origin := in.evaluator(t, s)
			nominal := in.run(t, s).Makespan
			e, before := origin.Clone(), origin.Clone()
			expected := map[*flow.Evaluator]engine.Time{origin: nominal, before: nominal}
			for range rapid.IntRange(1, 3).Draw(t, "times") {
				in = in.perturb(t)
				want := in.run(t, s)
				if err := e.SetDurations(in.durations()); err != nil {
					t.Fatal(err)
				}
				if err := e.SetChanges(in.n.Changes); err != nil {
					t.Fatal(err)
				}
				after := e.Clone()
				disturb(t, in, e, want.Makespan)
				for _, p := range []*flow.Evaluator{e, after} {
					if got, ok := p.Makespan(engine.Never); !ok || got != want.Makespan || p.Events() != want.Events {
						t.Fatalf("makespan %d (%v) of %d events, Run has %d of %d", got, ok, p.Events(), want.Makespan, want.Events)
					}
				}
				expected[after] = want.Makespan
			}
			for p, want := range expected {
				if got, ok := p.Makespan(engine.Never); !ok || got != want {
					t.Fatalf("an evaluator that nothing was set for since: %d (%v), want %d", got, ok, want)
				}
			}
		})
	})
}

// perturb returns in with other compute durations and other changes.
func (in instance) perturb(t *rapid.T) instance {
	g := &engine.Graph{}
	for i := range in.g.Tasks {
		k := in.g.Tasks[i]
		if k.Kind == engine.Compute {
			k.Duration = engine.Time(rapid.Int64Range(0, 4_000_000).Draw(t, "other duration"))
		}
		g.AddTask(k)
	}
	for i := range in.g.Tasks {
		for _, e := range in.g.Out(int32(i)) {
			g.AddEdge(e.From, e.To, e.Lag)
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	n := *in.n
	n.Changes = nil
	now := engine.Time(0)
	for range rapid.IntRange(0, 9).Draw(t, "other changes") {
		now += engine.Time(rapid.Int64Range(0, 2_000_000).Draw(t, "after"))
		n.Changes = append(n.Changes, engine.Change{At: now, Link: rapid.Int32Range(0, int32(len(n.Links)-1)).Draw(t, "which"), Rate: 150e9})
	}
	return instance{g, &n, in.r}
}

func (in instance) durations() []engine.Time {
	d := make([]engine.Time, len(in.g.Tasks))
	for i := range d {
		d[i] = in.g.Tasks[i].Duration
	}
	return d
}

// TestKnownTails: the given tails determine the order, and the graph's own tails give the same
// result as no tails. Two transfers of 10 us share a link; 3 and 4 us of compute follow them. The
// second goes first. If the first is given the longer tail, the makespan is 1 us longer.
func TestKnownTails(t *testing.T) {
	us := engine.Microsecond
	in := twoTransfers(800e9, 1_000_000, 1_000_000).withComputes(3*us, 4*us)
	for _, s := range []flow.Service{flow.TailPriority, flow.LevelPriority} {
		e := in.evaluator(t, s)
		graph := e.Spans().Tail
		for _, c := range []struct {
			tail []float64
			want engine.Time
		}{
			{nil, 23 * us},
			{graph, 23 * us},
			{[]float64{float64(40 * us), 0, 0, 0}, 24 * us},
			{nil, 23 * us},
		} {
			if err := e.SetTails(c.tail); err != nil {
				t.Fatal(err)
			}
			if got, ok := e.Clone().Makespan(engine.Never); !ok || got != c.want {
				t.Errorf("%v by tails %v: makespan %v (%v), want %v", s, c.tail, got, ok, c.want)
			}
		}
	}
}

// TestKnownTailsOfTheGraph: on random graphs, giving the graph's own tails changes nothing.
func TestKnownTailsOfTheGraph(t *testing.T) {
	for _, s := range []flow.Service{flow.TailPriority, flow.LevelPriority} {
		t.Run(name(s), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				in := drawInstance(t, shape{tasks: 10, changes: rapid.Bool().Draw(t, "changing")})
				e := in.evaluator(t, s)
				want, _ := e.Makespan(engine.Never)
				if err := e.SetTails(e.Spans().Tail); err != nil {
					t.Fatal(err)
				}
				if got, ok := e.Makespan(engine.Never); !ok || got != want {
					t.Fatalf("makespan %d (%v), want %d", got, ok, want)
				}
			})
		})
	}
}

// TestOverridesRejectInvalid: invalid values are rejected and change nothing.
func TestOverridesRejectInvalid(t *testing.T) {
	in := twoTransfers(800e9, 1_000_000, 1_000_000).withComputes(3*engine.Microsecond, 4*engine.Microsecond)
	e := in.evaluator(t, flow.MaxMin)
	want, _ := e.Makespan(engine.Never)
	good := in.durations()
	negative := slices.Clone(good)
	negative[2] = -1
	for i, err := range []error{
		e.SetDurations(good[:3]),
		e.SetDurations(negative),
		e.SetTails(make([]float64, 3)),
		e.SetChanges([]engine.Change{{Link: 1}}),
		e.SetChanges([]engine.Change{{At: 2}, {At: 1}}),
		e.SetChanges([]engine.Change{{Rate: math.NaN()}}),
	} {
		if err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
	if got, ok := e.Makespan(engine.Never); !ok || got != want {
		t.Errorf("makespan %v (%v) after what was refused, want %v", got, ok, want)
	}
}

// TestDownLink: if a link goes down for good during a run, the transfers on it never end and
// Makespan returns false. Transfers that ended before are not affected.
func TestDownLink(t *testing.T) {
	in := twoTransfers(800e9, 1_000_000, 1_000_000)
	for _, s := range services {
		e := in.evaluator(t, s)
		for _, c := range []struct {
			at engine.Time
			ok bool
		}{{0, false}, {10 * engine.Microsecond, false}, {20 * engine.Microsecond, true}, {engine.Second, true}} {
			if err := e.SetChanges([]engine.Change{{At: c.at}}); err != nil {
				t.Fatal(err)
			}
			if got, ok := e.Makespan(engine.Never); ok != c.ok || ok && got != 20*engine.Microsecond {
				t.Errorf("%v, down at %v: %v (%v), want an end: %v", s, c.at, got, ok, c.ok)
			}
		}
	}
}

// TestForkAfterChanges: a fork made after SetChanges added changes resumes from its own state.
func TestForkAfterChanges(t *testing.T) {
	us := engine.Microsecond
	in := twoTransfers(800e9, 1_000_000, 1_000_000)
	e := in.evaluator(t, flow.MaxMin)
	e.Fork([]int32{0}, engine.Never)
	changes := []engine.Change{{At: 5 * us, Rate: 400e9}, {At: 6 * us, Rate: 400e9}, {At: 7 * us, Rate: 400e9}, {At: 8 * us, Rate: 200e9}}
	if err := e.SetChanges(changes); err != nil {
		t.Fatal(err)
	}
	want, _ := e.Makespan(engine.Never)
	e.Fork([]int32{0}, engine.Never)
	for range 2 {
		if got, ok := e.Resume(engine.Never); !ok || got != want || want != 62*us {
			t.Errorf("resumed: %v (%v), simulated: %v, want 62 us", got, ok, want)
		}
	}
}
