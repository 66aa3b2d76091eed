package collective

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/collective"
	"sim/policies/reconfigure/plan"
)

// mutablePlan is a plan with stored messages, by phase, that tests can change.
type mutablePlan struct {
	*plan.Plan
	tx [][]plan.Message
}

func newMutablePlan(pl *Plan) *mutablePlan {
	e := &mutablePlan{pl.toPlan(), make([][]plan.Message, len(pl.Phases))}
	for i := range e.Steps.Phases {
		f := &e.Steps.Phases[i]
		e.tx[i], f.MaxMessageBytes = f.Messages(), slices.Clone(f.MaxMessageBytes)
		for k := range e.tx[i] { // pieces are shared with the plan
			e.tx[i][k].Pieces = slices.Clone(e.tx[i][k].Pieces)
		}
		f.Messages = func() []plan.Message { return e.tx[i] }
	}
	return e
}

// planOf returns the plan with the given name.
func planOf(t *testing.T, p *Problem, name string) *Plan {
	t.Helper()
	for _, pl := range must(frontierPlans(p))(t) {
		if pl.Name == name {
			return pl
		}
	}
	t.Fatalf("no plan %q", name)
	return nil
}

// TestInvalidPlans: for each broken rule, Check names the rule and the message.
func TestInvalidPlans(t *testing.T) {
	gather := problem(4, 1, collective.AllGather, 4000, 8e9, us, us)
	reduce := problem(4, 1, collective.AllReduce, 4000, 8e9, us, us)
	ring, double := planOf(t, gather, "gather ring 4"), planOf(t, reduce, "exchange ring 2, ring 2")
	both := planOf(t, reduce, "scatter ring 4; gather ring 4")
	for _, c := range []struct {
		want    string
		of      *Plan
		corrupt func(*mutablePlan)
	}{
		{"message 0->1 in step 0 of phase 0: GPU 0 has 0 of 1 contributions to part 0 of shard 2 when the step begins", ring,
			func(pl *mutablePlan) { pl.tx[0][0].Pieces[0].Shard = 2 }},
		{"ends with 0 of 1 contributions", ring, func(pl *mutablePlan) { pl.tx[0] = pl.tx[0][:11] }},
		{"message 0->1 in step 0 of phase 0: there are 1 such links, all taken in this step", ring,
			func(pl *mutablePlan) { pl.tx[0][1] = pl.tx[0][0] }},
		{"message 0->2 in step 0 of phase 0: there are 0 such links", ring, func(pl *mutablePlan) { pl.tx[0][0].To = 2 }},
		{"message -1->2 in step 0 of phase 0", ring, func(pl *mutablePlan) { pl.tx[0][0].From, pl.tx[0][0].To = -1, 2 }},
		{"message 1->2 in step 7 of phase 0: it comes in phase 0, after step 0 of 3", ring, func(pl *mutablePlan) { pl.tx[0][1].Step = 7 }},
		{"after step 1 of 3", ring, func(pl *mutablePlan) { x := pl.tx[0]; x[2], x[5] = x[5], x[2] }},
		{"parts 0..0 of shard 4; there are 1 of 4 shards", ring, func(pl *mutablePlan) { pl.tx[0][3].Pieces[0].Shard = 4 }},
		{"parts 0..1 of shard 3; there are 1", ring, func(pl *mutablePlan) { pl.tx[0][3].Pieces[0].To = 2 }},
		{"with the sum of GPU 1 in a phase to gather", ring, func(pl *mutablePlan) { pl.tx[0][3].Pieces[0].Origin = 1 }},
		{"it is of 1000 B, the longest of the step is to be of 999 B", ring, func(pl *mutablePlan) { pl.Steps.Phases[0].MaxMessageBytes[1] = 999 }},
		{"topology 0: scaleup: the switches cannot form this topology: edge 0->2 is one too many out of GPU 0", ring,
			func(pl *mutablePlan) { pl.Topologies[0] = append(pl.Topologies[0], scaleup.Edge{From: 0, To: 2}) }},
		{"2000 parts a shard of 1000 B", ring, func(pl *mutablePlan) { pl.Steps.Parts = 2000 }},
		{"phase 0 of an all-gather is a scatter", ring, func(pl *mutablePlan) { pl.Steps.Phases[0].Kind = plan.Scatter }},
		{"phase 1 claims the topology of the one before", double, func(pl *mutablePlan) { pl.Steps.Phases[1].Reused = true }},
		{"an open exchange", double, func(pl *mutablePlan) { pl.Steps.Phases[1].Open = true }},
		{"phase 1: GPU 0 counts the contribution of GPU 0 to part 0 of shard 0 twice, once in the sum of GPU 2", double,
			func(pl *mutablePlan) { // the second exchange repeats the first
				pl.Topologies[1], pl.tx[1] = pl.Topologies[0], slices.Clone(pl.tx[0])
				pl.Steps.Phases[1].MaxMessageBytes = pl.Steps.Phases[0].MaxMessageBytes
				for i := range pl.tx[1] {
					pl.tx[1][i].Phase = 1
				}
			}},
		{"message 0->2 in step 0 of phase 1: the contribution of GPU 0 to part 0 of shard 0 is counted twice", double,
			func(pl *mutablePlan) { // a GPU sends its sum to one that already has it
				x := plan.Message{Phase: 1, From: 0, To: 2, Pieces: []plan.Piece{{Shard: 0, From: 0, To: 1, Origin: -1}}}
				pl.Topologies[1], pl.tx[1] = pl.Topologies[0], []plan.Message{x}
				pl.Steps.Phases[1].Kind = plan.Scatter
			}},
		{"message 0->2 in step 0 of phase 0: GPU 0 does not have GPU 2's sum of part 0 of shard 0", double,
			func(pl *mutablePlan) { pl.tx[0][0].Pieces[0].Origin = 2 }},
		{"message 0->1 in step 1 of phase 0: GPU 0 has sent away its sum of part 0 of shard 3 before", both,
			func(pl *mutablePlan) { pl.tx[0][4].Pieces[0].Shard = pl.tx[0][0].Pieces[0].Shard }},
		{"message 0->1 in step 0 of phase 1: GPU 0 has 2 of 4 contributions to part 0 of shard 0 when the step begins", both,
			func(pl *mutablePlan) { pl.tx[0][2+4*1].Pieces = nil }},
	} {
		pl := newMutablePlan(c.of)
		if err := pl.Check(); err != nil {
			t.Fatal(err)
		}
		c.corrupt(pl)
		if err := pl.Check(); !errors.Is(err, plan.ErrBroken) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}

// TestMutations: Check rejects a plan if one piece is removed, moved to another shard, or added
// twice.
func TestMutations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 10)
		plans := must(frontierPlans(p))(t)
		pl := newMutablePlan(plans[rapid.IntRange(0, len(plans)-1).Draw(t, "plan")])
		i := rapid.IntRange(0, len(pl.Steps.Phases)-1).Draw(t, "phase")
		x := &pl.tx[i][rapid.IntRange(0, len(pl.tx[i])-1).Draw(t, "message")]
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
			if pl.Steps.Phases[i].Kind == plan.Gather {
				t.Skip("a second copy does no harm")
			}
			x.Pieces = append(x.Pieces, x.Pieces[k])
		}
		for s := range pl.Steps.Phases[i].MaxMessageBytes {
			// So that lengths are never wrong.
			pl.Steps.Phases[i].MaxMessageBytes[s] = p.Bytes * int64(p.GPUs)
		}
		if err := pl.Check(); !errors.Is(err, plan.ErrBroken) {
			t.Fatalf("%s with piece %d of %v %s: %v", pl.Name, k, x, what, err)
		}
	})
}

// TestJSON: a plan that is written and read has the same text, cost and problem.
func TestJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plans := must(frontierPlans(drawProblem(t, 9)))(t)
		pl := plans[rapid.IntRange(0, len(plans)-1).Draw(t, "plan")]
		text := encodePlan(t, pl.toPlan())
		read := must(plan.ReadJSON(strings.NewReader(text), "x.json"))(t)
		if len(read) != 1 || encodePlan(t, read[0]) != text || read[0].Cost(pl.Problem.Delay, 0) != pl.cost() || !reflect.DeepEqual(read[0].Steps.Collective, pl.Problem) {
			t.Fatal(text)
		}
	})
}

func encodePlan(t rapid.TB, pl *plan.Plan) string {
	t.Helper()
	var text strings.Builder
	if err := plan.WriteJSON(&text, []*plan.Plan{pl}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestInvalidJSON: ReadJSON names each fault.
func TestInvalidJSON(t *testing.T) {
	good := encodePlan(t, planOf(t, problem(4, 1, collective.AllReduce, 4000, 8e9, us, us), "exchange ring 2, ring 2").toPlan())
	for _, c := range []struct{ old, with, want string }{
		{`"n":4`, `"n":1`, "1 GPUs; want 2"},
		{`"k":1`, `"k":4`, "4 links a GPU"},
		{`"parts":1,`, ``, `member "parts" is missing`},
		{`"parts":1,`, `"parts":1,"relay":true,`, `member "relay": a plan with "op" goes in steps`},
		{`"rate_bits_per_s":8000000000`, `"rate_bits_per_s":null`, `member "rate_bits_per_s": it has another value; want a number`},
		{`"all-reduce"`, `"all-to-all"`, `member "op": it is not known; want one of`},
		{`["exchange",`, `["swap",`, `member "kinds": entry 0 is not known; want one of`},
		{`["exchange",`, `[`, `one has 1 entries for 2 topologies`},
		{`"open":[false`, `"open":[0`, `member "open": entry 0 is none; want a list of true and false`},
		{`[0,0,0,2,`, `[0,0,2,`, `member "tx": entry 0 is [0 0 2 0 0 1 0 1 0 1 0 2 0 1 0 3 0 1 0]; want phase, step`},
		{`[0,0,0,2,0,0,1,0,`, `[0,0,0,2,0,0,1,3,`, "message 0->2 in step 0 of phase 0: GPU 0 does not have GPU 3's sum of part 0 of shard 0"},
		{`"longest":[[4000]`, `"longest":[[-1]`, "step 0 of phase 0 claims a message of -1 B"},
		{`"slots":[1,1]`, `"slots":[1,2]`, "phase 1 takes 2 steps and has the lengths of 1"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("no %q in %s", c.old, good)
		}
		if _, err := plan.ReadJSON(strings.NewReader(strings.Replace(good, c.old, c.with, 1)), "x.json"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v; want %q", c.with, c.old, err, c.want)
		}
	}
}

// TestLarge: Check accepts the cheapest plans on 128 GPUs, with -long on 1024.
func TestLarge(t *testing.T) {
	n := 128
	if *long {
		n = 1024
	}
	for _, op := range ops {
		plans := must(frontierPlans(problem(n, 2, op, 64<<20, 8e11, us/2, us)))(t)
		for _, delay := range []engine.Time{0, us, 20 * us, 1000 * us} {
			pl := cheapest(plans, delay)
			if err := pl.toPlan().Check(); err != nil {
				t.Errorf("%s: %v", pl.Name, err)
			}
		}
	}
}
