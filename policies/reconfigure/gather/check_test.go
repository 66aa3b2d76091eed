package gather

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/workloads/collective"
)

// explicit returns a plan with its messages written out, to be broken.
func explicit(pl *Plan) *Plan {
	e := *pl
	e.Phases = slices.Clone(pl.Phases)
	for i := range e.Phases {
		f := &e.Phases[i]
		f.edges, f.tx = pl.Topology(i), pl.Transmissions(i)
		f.Offsets, f.trees, f.fold, f.Longest = nil, nil, nil, slices.Clone(f.Longest)
	}
	return &e
}

// planOf returns the plan of a name.
func planOf(t *testing.T, p *Problem, name string) *Plan {
	t.Helper()
	for _, pl := range must(Plans(p))(t) {
		if pl.Name == name {
			return pl
		}
	}
	t.Fatalf("no plan %q", name)
	return nil
}

// TestBreaches: each rule that is broken is named, with the message that breaks it.
func TestBreaches(t *testing.T) {
	gather := &Problem{4, 1, collective.AllGather, 4000, 8e9, us, us, nil}
	reduce := &Problem{4, 1, collective.AllReduce, 4000, 8e9, us, us, nil}
	ring, double := planOf(t, gather, "gather ring 4"), planOf(t, reduce, "exchange ring 2, ring 2")
	both := planOf(t, reduce, "scatter ring 4; gather ring 4")
	for _, c := range []struct {
		want  string
		of    *Plan
		spoil func(*Plan)
	}{
		{"message 0->1 in step 0 of phase 0: GPU 0 has 0 of 1 contributions to part 0 of shard 2 when the step begins", ring,
			func(pl *Plan) { pl.Phases[0].tx[0].Pieces[0].Shard = 2 }},
		{"ends with 0 of 1 contributions", ring, func(pl *Plan) { pl.Phases[0].tx = pl.Phases[0].tx[:11] }},
		{"message 0->1 in step 0 of phase 0: there are 1 such links, all taken in this step", ring,
			func(pl *Plan) { pl.Phases[0].tx[1] = pl.Phases[0].tx[0] }},
		{"message 0->2 in step 0 of phase 0: there are 0 such links", ring, func(pl *Plan) { pl.Phases[0].tx[0].To = 2 }},
		{"message -1->2 in step 0 of phase 0", ring, func(pl *Plan) { pl.Phases[0].tx[0].From, pl.Phases[0].tx[0].To = -1, 2 }},
		{"message 1->2 in step 7 of phase 0: it comes in phase 0, after step 0 of 3", ring, func(pl *Plan) { pl.Phases[0].tx[1].Step = 7 }},
		{"after step 1 of 3", ring, func(pl *Plan) { x := pl.Phases[0].tx; x[2], x[5] = x[5], x[2] }},
		{"parts 0..0 of shard 4; there are 1 of 4 shards", ring, func(pl *Plan) { pl.Phases[0].tx[3].Pieces[0].Shard = 4 }},
		{"parts 0..1 of shard 3; there are 1", ring, func(pl *Plan) { pl.Phases[0].tx[3].Pieces[0].To = 2 }},
		{"with the sum of GPU 1 in a phase to gather", ring, func(pl *Plan) { pl.Phases[0].tx[3].Pieces[0].Origin = 1 }},
		{"it is of 1000 B, the longest of the step is to be of 999 B", ring, func(pl *Plan) { pl.Phases[0].Longest[1] = 999 }},
		{"phase 0: scaleup: the switches cannot form this topology: edge 0->2 is one too many out of GPU 0", ring,
			func(pl *Plan) { pl.Phases[0].edges = append(pl.Phases[0].edges, scaleup.Edge{From: 0, To: 2}) }},
		{"2000 parts a shard of 1000 B", ring, func(pl *Plan) { pl.Parts = 2000 }},
		{"phase 0 of an all-gather is a scatter", ring, func(pl *Plan) { pl.Phases[0].Kind = Scatter }},
		{"phase 1 claims the topology of the one before", double, func(pl *Plan) { pl.Phases[1].Reused = true }},
		{"an open exchange", double, func(pl *Plan) { pl.Phases[1].Open = true }},
		{"phase 1: GPU 0 counts the contribution of GPU 0 to part 0 of shard 0 twice, once in the sum of GPU 2", double,
			func(pl *Plan) { // the second exchange on the topology of the first
				pl.Phases[1] = pl.Phases[0]
				pl.Phases[1].tx = slices.Clone(pl.Phases[0].tx)
				for i := range pl.Phases[1].tx {
					pl.Phases[1].tx[i].Phase = 1
				}
			}},
		{"message 0->2 in step 0 of phase 1: the contribution of GPU 0 to part 0 of shard 0 is counted twice", double,
			func(pl *Plan) { // both have the sum, and one sends it to the other
				x := Tx{Phase: 1, From: 0, To: 2, Pieces: []Piece{{0, 0, 1, -1}}}
				pl.Phases[1] = Phase{Kind: Scatter, Longest: pl.Phases[0].Longest, edges: pl.Phases[0].edges, tx: []Tx{x}}
			}},
		{"message 0->2 in step 0 of phase 0: GPU 0 does not have GPU 2's sum of part 0 of shard 0", double,
			func(pl *Plan) { pl.Phases[0].tx[0].Pieces[0].Origin = 2 }},
		{"message 0->1 in step 1 of phase 0: GPU 0 has sent away its sum of part 0 of shard 3 before", both,
			func(pl *Plan) { pl.Phases[0].tx[4].Pieces[0].Shard = pl.Phases[0].tx[0].Pieces[0].Shard }},
		{"message 0->1 in step 0 of phase 1: GPU 0 has 2 of 4 contributions to part 0 of shard 0 when the step begins", both,
			func(pl *Plan) { pl.Phases[0].tx[2+4*1].Pieces = nil }},
	} {
		pl := explicit(c.of)
		if err := pl.Check(); err != nil {
			t.Fatal(err)
		}
		for i := range pl.Phases { // pieces are shared with the plan
			for k := range pl.Phases[i].tx {
				pl.Phases[i].tx[k].Pieces = slices.Clone(pl.Phases[i].tx[k].Pieces)
			}
		}
		c.spoil(pl)
		if err := pl.Check(); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}

// TestMutations: a plan with one piece lost, moved to another shard, or counted twice does not hold; one whose numbers
// still come out right does.
func TestMutations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProblem(t, 10)
		plans := must(Plans(p))(t)
		pl := explicit(plans[rapid.IntRange(0, len(plans)-1).Draw(t, "plan")])
		i := rapid.IntRange(0, len(pl.Phases)-1).Draw(t, "phase")
		x := &pl.Phases[i].tx[rapid.IntRange(0, len(pl.Phases[i].tx)-1).Draw(t, "message")]
		k := rapid.IntRange(0, len(x.Pieces)-1).Draw(t, "piece")
		x.Pieces = slices.Clone(x.Pieces)
		what := "lost"
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			x.Pieces = slices.Delete(x.Pieces, k, k+1)
		case 1:
			what = "moved"
			x.Pieces[k].Shard = (x.Pieces[k].Shard + int32(rapid.IntRange(1, p.GPUs-1).Draw(t, "by"))) % int32(p.GPUs)
		case 2:
			what = "twice"
			if pl.Phases[i].Kind == Gather {
				t.Skip("a second copy does no harm")
			}
			x.Pieces = append(x.Pieces, x.Pieces[k])
		}
		for s := range pl.Phases[i].Longest {
			pl.Phases[i].Longest[s] = p.Bytes * int64(p.GPUs) // so that only the data counts
		}
		if err := pl.Check(); !errors.Is(err, ErrBroken) {
			t.Fatalf("%s with piece %d of %v %s: %v", pl.Name, k, x, what, err)
		}
	})
}

// TestJSON: what is written is read back, the same to the byte, and holds.
func TestJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plans := must(Plans(anyProblem(t, 9)))(t)
		pl := plans[rapid.IntRange(0, len(plans)-1).Draw(t, "plan")]
		var first, second strings.Builder
		if err := pl.WriteJSON(&first); err != nil {
			t.Fatal(err)
		}
		read := must(ReadJSON(strings.NewReader(first.String())))(t)
		if err := read.WriteJSON(&second); err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() || read.Cost() != pl.Cost() || !reflect.DeepEqual(read.Problem, pl.Problem) {
			t.Fatalf("%s\n%s", first.String(), second.String())
		}
		compute(t, read)
	})
}

// TestBadJSON: each fault is named.
func TestBadJSON(t *testing.T) {
	var text strings.Builder
	pl := planOf(t, &Problem{4, 1, collective.AllReduce, 4000, 8e9, us, us, nil}, "exchange ring 2, ring 2")
	if err := pl.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	good := text.String()
	for _, c := range []struct{ old, with, want string }{
		{"{", "[", "gather: no plan"},
		{"}\n", "} {}", "more follows the plan"},
		{`"n":4`, `"n":null`, "null at byte"},
		{`"n":4,`, "", `it has no "n"`},
		{`"n":4`, `"n":4,"m":4`, `unknown field "m"`},
		{`"n":4`, `"n":1`, "1 GPUs; want 2"},
		{`"k":1`, `"k":4`, "4 links a GPU"},
		{`"all-reduce"`, `"all-to-all"`, `op "all-to-all"; want one of`},
		{`gather/1`, `gather/2`, `want "sim.gather/1"`},
		{`"exchange","reused"`, `"swap","reused"`, `phase 0 is of kind "swap"`},
		{`"open":false,`, "", "phase 0 lacks one of"},
		{`[0,2]`, `[0,2,2]`, "link [0 2 2]; want [from, to]"},
		{`[0,0,2,`, `[0,2,`, "want [step, from, to, pieces]"},
		{`[0,0,1,0]`, `[0,0]`, "want [shard, from, to]"},
		{`[0,0,1,0]`, `[0,0,"x",0]`, "cannot unmarshal string"},
		{`[0,0,1,0]`, `[0,0,1,3]`, "message 0->2 in step 0 of phase 0: GPU 0 does not have GPU 3's sum of part 0 of shard 0"},
		{`"longest":[4000]`, `"longest":[-1]`, "step 0 of phase 0 claims a message of -1 B"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("no %q in %s", c.old, good)
		}
		if _, err := ReadJSON(strings.NewReader(strings.Replace(good, c.old, c.with, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v; want %q", c.with, c.old, err, c.want)
		}
	}
	if _, err := ReadJSON(strings.NewReader(good)); err != nil {
		t.Error(err)
	}
}

// TestLarge: plans of 256 GPUs hold, with -long those of 1024.
func TestLarge(t *testing.T) {
	n := 256
	if *long {
		n = 1024
	}
	for _, op := range ops {
		plans := must(Plans(&Problem{n, 2, op, 64 << 20, 8e11, us / 2, us, nil}))(t)
		for _, delay := range []engine.Time{0, us, 20 * us, 1000 * us} {
			pl := Cheapest(plans, delay)
			if err := pl.Check(); err != nil {
				t.Errorf("%s: %v", pl.Name, err)
			}
		}
	}
}
