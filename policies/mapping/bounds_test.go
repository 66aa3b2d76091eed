package mapping

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestKeys verifies which mappings are compared, which are files, and the endpoints that files
// list.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		keys            Keys
		asked, among    bool
		compared, files []string
	}{
		{Keys{}, false, false, []string{Default}, nil},
		{Keys{Mapping: Default}, false, false, []string{Default}, nil},
		{Keys{Mapping: "dp-tp"}, true, false, []string{"dp-tp"}, nil},
		{Keys{Mapping: "ranks.txt"}, true, false, []string{"ranks.txt"}, []string{"ranks.txt"}},
		{Keys{Mapping: "x.txt", Mappings: []string{Default, "b", "dp-tp", "a"}}, true, true, []string{Default, "b", "dp-tp", "a"}, []string{"b", "a"}},
	} {
		k := &c.keys
		if k.IsSet() != c.asked || k.ComparesMappings() != c.among || !slices.Equal(k.Names(), c.compared) || !slices.Equal(k.FileNames(), c.files) {
			t.Errorf("%+v: asked %v, among %v, compared %v, files %v", c.keys, k.IsSet(), k.ComparesMappings(), k.Names(), k.FileNames())
		}
	}
	k := Keys{Mappings: []string{"b", Default, "a", "c"}, Endpoints: [][]int{{1, 2}, {3}}}
	listed := k.FileEndpoints()
	if len(listed) != 2 || !slices.Equal(listed["b"], []int32{1, 2}) || !slices.Equal(listed["a"], []int32{3}) {
		t.Errorf("files list %v", listed)
	}
	for name, want := range map[string]int{"b": 1, "a": 3, "c": 0, Default: 0} {
		for _, fixed := range []bool{false, true} {
			one := k.Restrict(name, fixed)
			first := 0
			if len(one.Endpoints) == 1 {
				first = one.Endpoints[0][0]
			}
			if !slices.Equal(one.Mappings, []string{name}) || (one.Mapping == name) != fixed || first != want || len(one.Endpoints) > 1 {
				t.Errorf("%s alone, fixed %v: %+v", name, fixed, one)
			}
		}
	}
	if !IsSearch("optimised") || IsSearch(Default) || IsSearch("ranks.txt") {
		t.Error("only the search is searched for")
	}
}

// TestCostLimits verifies that problems whose cost cannot be computed are rejected, and problems
// at the limits are not.
func TestCostLimits(t *testing.T) {
	dims := []Dim{{"dp", 2}}
	problem := func() *Problem { return onTorus(t, dims, []Flow{{Src: 0, Dst: 1, Bytes: 1}}, 4) }
	for _, c := range []struct {
		want    string
		corrupt func(p *Problem)
	}{
		{"", func(*Problem) {}},
		{"", func(p *Problem) { p.Demand[0].Bytes = 1 << 59 }}, // over at most 2 hops
		{"more than can be counted", func(p *Problem) { p.Demand[0].Bytes = 1<<59 + 1<<10 }},
		{"the hops between 8193 endpoints are too many; want at most 8192", func(p *Problem) { p.Slots = make([]int32, MaxSlots+1) }},
		{"endpoint 0 cannot reach endpoint 1", func(p *Problem) { p.Distances = func(int32) []int32 { return []int32{0, -1, -1, -1} } }},
		{"", func(p *Problem) {
			p.Distances = func(int32) []int32 { return slices.Repeat([]int32{math.MaxUint16}, 4) }
		}},
		{"endpoint 0 cannot reach endpoint 0", func(p *Problem) {
			p.Distances = func(int32) []int32 { return slices.Repeat([]int32{math.MaxUint16 + 1}, 4) }
		}},
	} {
		p := problem()
		c.corrupt(p)
		if _, err := NewCost(context.Background(), p); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := NewCost(ctx, problem()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end: %v", err)
	}
	p := problem()
	p.PartsPerHop = 3
	if c, err := NewCost(context.Background(), p); err != nil || c.PartsPerHop() != 3 {
		t.Errorf("a hop is counted in 3 parts: %v", err)
	}
	p.PartsPerHop = 0
	if c, err := NewCost(context.Background(), p); err != nil || c.PartsPerHop() != 1 {
		t.Errorf("a hop is counted as one: %v", err)
	}
}

// TestCheck verifies that a placement must have an endpoint per rank, and keep the ranks of a
// block together in order.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		block int
		at    []int32
		want  string
	}{
		{0, []int32{3, 2, 1, 0}, ""},
		{2, []int32{2, 3, 0, 1}, ""},
		{2, []int32{0, 1, 3, 2}, "ranks 2 to 3 make calls inside a domain of 2 GPUs, and rank 2 is on endpoint 3"},
		{2, []int32{0, 3, 2, 1}, "rank 1 is on endpoint 3"},
		{0, []int32{0, 1, 2}, "3 endpoints for 4 ranks"},
		{0, []int32{0, 1, 2, 2}, "ranks 2 and 3 are both on endpoint 2"},
		{0, []int32{0, 1, 2, 9}, "rank 3 is on endpoint 9, which does not exist"},
	} {
		p := onTorus(t, []Dim{{"dp", 4}}, nil, 4)
		p.Block = c.block
		if err := p.check(c.at); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v in blocks of %d: %v, want %q", c.at, c.block, err, c.want)
		}
	}
}

// TestLargeBound verifies a problem that is too large for an assignment: the bound is exact if
// each rank of a ring sends to the next.
func TestLargeBound(t *testing.T) {
	const ranks = 520 // ranks cubed exceeds maxAssignmentWork
	var demand []Flow
	for i := range int32(ranks) {
		demand = append(demand, Flow{Src: i, Dst: (i + 1) % ranks, Bytes: 3})
	}
	c, err := NewCost(context.Background(), onTorus(t, []Dim{{"dp", ranks}}, demand, ranks))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Bound(); ranks*ranks*ranks <= maxAssignmentWork || got != 3*ranks {
		t.Errorf("the bound is %d, want %d", got, 3*ranks)
	}
}

// TestReevaluate verifies that Reevaluate selects the placement with the smallest value by another
// function. Placements whose bound is no smaller are not evaluated, and errors are returned.
func TestReevaluate(t *testing.T) {
	failed := errors.New("failed")
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 9), 1, 5).Draw(t, "values")
		slack := rapid.SliceOfN(rapid.Float64Range(0, 3), len(values), len(values)).Draw(t, "slack")
		broken := rapid.IntRange(-1, len(values)-1).Draw(t, "broken")
		g := &Grouping{Bound: func(_ context.Context, at []int32) (float64, error) { return values[at[0]] - slack[at[0]], nil }}
		f := &GroupingResult{At: []int32{0}, Value: 100, Bound: rapid.Float64Range(0, 9).Draw(t, "bound")}
		for i := 1; i < len(values); i++ {
			f.Others = append(f.Others, []int32{int32(i)})
		}
		best, wrong := 0, broken == 0
		for i := 1; i < len(values) && !wrong; i++ {
			if values[i]-slack[i] < values[best] {
				if wrong = broken == i; values[i] < values[best] && !wrong {
					best = i
				}
			}
		}
		bound := f.Bound
		g.Value = func(_ context.Context, at []int32, thorough bool) (float64, float64, error) {
			if int(at[0]) == broken {
				return 0, 0, failed
			}
			if !thorough {
				t.Error("a value in a hurry is asked for")
			}
			return values[at[0]], 0, nil
		}
		err := g.Settle(context.Background(), f)
		if wrong != errors.Is(err, failed) || !wrong && err != nil {
			t.Fatalf("error %v, want one: %v", err, wrong)
		}
		if !wrong && (f.Value != values[best] || int(f.At[0]) != best || f.Bound != min(bound, f.Value)) {
			t.Fatalf("settled on %v of value %v and bound %v, want %d of %v and %v", f.At, f.Value, f.Bound, best, values[best], min(bound, values[best]))
		}
	})
}

// TestSearchErrors verifies that the search returns an error of any function of a grouping, at
// any call.
func TestSearchErrors(t *testing.T) {
	failed := errors.New("failed")
	rapid.Check(t, func(t *rapid.T) {
		calls := 0
		fails := func(after, which int) error {
			plain, _ := drawGrouping(t)
			g := *plain
			calls = 0
			count := func(k int) error {
				if k != which {
					return nil
				}
				if calls++; calls > after {
					return failed
				}
				return nil
			}
			g.Bound = func(ctx context.Context, at []int32) (float64, error) {
				v, _ := plain.Bound(ctx, at)
				return v, count(0)
			}
			g.Guess = func(ctx context.Context, at []int32) (float64, error) {
				v, _ := plain.Guess(ctx, at)
				return v, count(1)
			}
			g.Value = func(ctx context.Context, at []int32, thorough bool) (float64, float64, error) {
				v, b, _ := plain.Value(ctx, at, thorough)
				return v, b, count(2)
			}
			_, err := g.Search(context.Background(), Options{Trials: 20, Seed: 1})
			return err
		}
		after, which := rapid.IntRange(0, 30).Draw(t, "after"), rapid.IntRange(0, 2).Draw(t, "which")
		if err := fails(after, which); errors.Is(err, failed) != (calls > after) {
			t.Fatalf("call %d of %d fails: %v", after+1, calls, err)
		}
	})
}

// TestOrders verifies all orders of the dimensions with more than one rank.
func TestOrders(t *testing.T) {
	got := Orders([]Dim{{"tp", 2}, {"pp", 1}, {"dp", 4}, {"ep", 3}})
	slices.Sort(got)
	if want := []string{"dp-ep-tp", "dp-tp-ep", "ep-dp-tp", "ep-tp-dp", "tp-dp-ep", "tp-ep-dp"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestAssignedBound verifies the assignment bound. On a row of three endpoints, only one of three
// mutually communicating ranks can be in the middle. The bound is exact; with the best endpoint
// for each rank independently it would be a quarter less.
func TestAssignedBound(t *testing.T) {
	row := onTorus(t, []Dim{{"dp", 3}}, []Flow{{Src: 0, Dst: 1, Bytes: 5}, {Src: 1, Dst: 2, Bytes: 5}, {Src: 0, Dst: 2, Bytes: 5}}, 3)
	row.Distances = func(from int32) []int32 {
		return [][]int32{{0, 1, 2}, {1, 0, 1}, {2, 1, 0}}[from]
	}
	c, err := NewCost(context.Background(), row)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Bound(); got != 20 || c.Total([]int32{1, 0, 2}) != 20 {
		t.Errorf("the bound is %d and the cost %d, want 20", got, c.Total([]int32{1, 0, 2}))
	}
}
