package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
)

// describeRanks describes the operations of each rank without the names and numbers of groups. The
// sets of a rank are numbered in the order of their first calls.
func describeRanks(j *Job) (ranks []string) {
	for rank, ops := range j.Ops {
		var b strings.Builder
		seen := map[[2]int32]int{}
		for i := range ops {
			o := &ops[i]
			fmt.Fprint(&b, o.Kind, " ", o.Duration, " ", o.Bytes, " ", o.Tag, " ", o.Stream, " ", o.After)
			switch o.Kind {
			case Call:
				at := [2]int32{o.Group, j.Groups[o.Group].SetOf[rank]}
				if _, ok := seen[at]; !ok {
					seen[at] = len(seen)
				}
				fmt.Fprint(&b, " ", o.Collective, " ", seen[at], " ", j.members(rank, o))
			case Send, Recv:
				fmt.Fprint(&b, " ", rank+int(o.Peer))
			}
			b.WriteByte('\n')
		}
		ranks = append(ranks, b.String())
	}
	return ranks
}

// compareRanks fails if two jobs differ in the operations of a rank.
func compareRanks(t rapid.TB, got, want *Job) {
	t.Helper()
	if got.Ranks != want.Ranks {
		t.Fatalf("got %d ranks, want %d", got.Ranks, want.Ranks)
	}
	a, b := describeRanks(got), describeRanks(want)
	for r := range a {
		if a[r] != b[r] {
			t.Fatalf("rank %d: got\n%s\nwant\n%s", r, a[r], b[r])
		}
	}
}

// TestScaleSimAI scales the data-parallel ranks of workload texts, and compares the result with the
// text for as many GPUs. With experts, the dimension of the ranks that share an expert grows.
func TestScaleSimAI(t *testing.T) {
	for _, order := range []string{"tp-dp-pp", "tp-pp-dp"} {
		for _, c := range []struct {
			tp, ep, pp, from, to int
			group                string
		}{
			{2, 1, 2, 8, 16, ""}, {2, 1, 2, 16, 8, ""}, {2, 1, 1, 4, 12, ""}, {1, 1, 2, 4, 8, ""}, {2, 1, 2, 8, 8, ""},
			{2, 2, 2, 16, 32, "dp_ep"}, {2, 2, 2, 32, 16, "dp_ep"},
		} {
			read := func(gpus int) *Job {
				j, err := readText(t, simText(c.tp, c.ep, c.pp, 2, 1, gpus), Keys{RankOrder: order})
				if err != nil {
					t.Fatal(err)
				}
				j.Stage = nil // the operations of each rank are there, too
				return j
			}
			group := c.group
			if group != "" { // the name of the group is the reader's
				group = read(c.from).Groups[3].Name
			}
			got, err := read(c.from).Scale(c.to, group)
			if err != nil {
				t.Errorf("%s, %+v: %v", order, c, err)
				continue
			}
			compareRanks(t, got, read(c.to))
			if want := read(c.to); group == "" && !slices.Equal(got.Dims, want.Dims) {
				t.Errorf("%s, %+v: got dimensions %v, want %v", order, c, got.Dims, want.Dims)
			}
		}
	}
}

// productJob returns a job of ranks in the product of some dimensions, which call along some of
// them and send along others. The operations do not depend on the coordinate in dimension free.
// If ownNames is set, each set of ranks has a group of its own.
func productJob(sizes []int, free int, steps []int, ownNames bool) *Job {
	ranks := 1
	for _, n := range sizes {
		ranks *= n
	}
	coordinates := func(rank int) (all []int) {
		for _, n := range sizes {
			all, rank = append(all, rank%n), rank/n
		}
		return all
	}
	rankOf := func(all []int) (rank int) {
		for i := len(sizes) - 1; i >= 0; i-- {
			rank = rank*sizes[i] + all[i]
		}
		return rank
	}
	j := &Job{Ranks: ranks, Ops: make([][]Op, ranks), EagerBytes: MaxMessageBytes}

	// The group of a mask has sets whose ranks differ in its dimensions.
	groupOf := map[int][]int32{} // by mask and rank
	for mask := 1; mask < 1<<len(sizes); mask++ {
		var sets [][]int32
		setOf := map[string]int{}
		ofRank := make([]int32, ranks)
		for r := range ranks {
			c := coordinates(r)
			for i := range c {
				if mask>>i&1 == 1 {
					c[i] = 0
				}
			}
			at, ok := setOf[fmt.Sprint(c)]
			if !ok {
				at, setOf[fmt.Sprint(c)] = len(sets), len(sets)
				sets = append(sets, nil)
			}
			sets[at] = append(sets[at], int32(r))
			ofRank[r] = int32(len(j.Groups))
			if ownNames {
				ofRank[r] += int32(at)
			}
		}
		parts := [][][]int32{sets}
		if ownNames {
			parts = nil
			for _, s := range sets {
				parts = append(parts, [][]int32{s})
			}
		}
		for i, part := range parts {
			g, err := NewGroup(fmt.Sprint("mask ", mask, " of ", i), ranks, part)
			if err != nil {
				panic(err)
			}
			j.Groups = append(j.Groups, g)
		}
		groupOf[mask] = ofRank
	}

	for r := range ranks {
		c := coordinates(r)
		own := int64(0)
		for i := range c {
			if i != free {
				own = 3*own + int64(c[i])
			}
		}
		var after []int32
		for i, step := range steps {
			add := func(o Op) {
				o.Name, o.After = fmt.Sprint("step ", i, " of rank ", r), after
				j.Ops[r] = append(j.Ops[r], o)
			}
			next := len(j.Ops[r])
			dim := step / 3 % len(sizes)
			switch step % 3 {
			case 0:
				add(Op{Kind: Compute, Duration: engine.Time(1 + own + int64(i))})
			case 1:
				mask := 1 + step/3%(1<<len(sizes)-1)
				add(Op{Kind: Call, Collective: Collective(i % 3), Bytes: int64(100 + i), Group: groupOf[mask][r]})
			case 2:
				if dim == free {
					continue
				}
				for _, k := range []int{1, sizes[dim] - 1} {
					to := coordinates(r)
					to[dim] = (to[dim] + k) % sizes[dim]
					o := Op{Kind: Send, Bytes: int64(10 + i), Peer: int32(rankOf(to) - r), Tag: uint32(i)}
					if k != 1 || sizes[dim] == 2 && len(j.Ops[r]) > next {
						o.Kind = Recv
					}
					add(o)
				}
			}
			after = nil
			for k := next; k < len(j.Ops[r]); k++ {
				after = append(after, int32(k))
			}
		}
	}
	return j
}

// TestScaleProducts scales jobs of random dimensions, and compares the result with the job that was
// made with the new number of ranks.
func TestScaleProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(2, 3), 1, 3).Draw(t, "sizes")
		free := rapid.IntRange(0, len(sizes)-1).Draw(t, "free")
		steps := rapid.SliceOfN(rapid.IntRange(0, 60), 1, 8).Draw(t, "steps")
		ownNames := rapid.Bool().Draw(t, "own names")
		steps = append(steps, 1+3*(1<<free-1)) // a call along the free dimension
		j := productJob(sizes, free, steps, ownNames)
		name := j.Groups[j.Ops[0][len(j.Ops[0])-1].Group].Name
		larger := slices.Clone(sizes)
		larger[free] = rapid.IntRange(1, 6).Draw(t, "new size")
		want := productJob(larger, free, steps, ownNames)
		got, err := j.Scale(want.Ranks, name)
		if err != nil {
			t.Fatal(err)
		}
		compareRanks(t, got, want)
		if _, err := got.Build(BuildOptions{Expand: ExpandNeighbours}); err != nil {
			t.Error(err)
		}
	})
}

// TestScaleRefused checks the reasons why a job cannot be scaled.
func TestScaleRefused(t *testing.T) {
	const callFirst, callSecond, callBoth, compute = 1, 4, 7, 0
	make22 := func(steps ...int) *Job { return productJob([]int{2, 2}, 1, steps, false) }
	change := func(j *Job, rank int, edit func(ops []Op)) *Job {
		edit(j.Ops[rank])
		return j
	}
	for _, c := range []struct {
		job   *Job
		ranks int
		group string
		want  string
	}{
		{make22(callSecond), 6, "", ""},
		{make22(callSecond), 4, "no matter", ""},
		{make22(callSecond), 5, "", "the other dimensions have 2; want a multiple of 2 up to 131072"},
		{make22(callSecond), 1 << 18, "", "want a multiple of 2 up to 131072"},
		{make22(callFirst, callSecond), 8, "", `the dimension may be that of group "mask 1 of 0" (2 ranks in steps of 1) or "mask 2 of 0" (2 ranks in steps of 2); want workload.growth_group`},
		{make22(callFirst, callSecond), 8, "mask 2 of 0", ""},
		{make22(callFirst, callSecond), 8, "dp", `group "dp" has no such ranks; want a group whose ranks are in equal steps`},
		{make22(callFirst, callBoth), 8, "mask 3 of 0", `along "mask 3 of 0" (4 ranks in steps of 1), group "mask 1 of 0" has some of the ranks of a line, such as 0; want groups that are a product`},
		{make22(compute), 8, "", "it has no such calls; want a trace with collective calls"},
		{change(make22(callSecond, compute), 3, func(ops []Op) { ops[0].Bytes++ }), 8, "", `operation 0 of rank 3 ("step 0 of rank 3") differs from that of rank 1 ("step 0 of rank 1")`},
		{change(make22(callSecond, compute), 3, func(ops []Op) { ops[1].Duration++ }), 8, "", ""},
		{change(make22(callSecond, compute), 2, func(ops []Op) { ops[1].After = nil }), 8, "", "operation 1 of rank 2"},
		{change(make22(callSecond, compute), 2, func(ops []Op) { ops[1] = Op{Kind: Send, Peer: -2} }), 8, "", "operation 1 of rank 2"},
		{&Job{Ranks: 2, Groups: []Group{{Name: "a", Sets: [][]int32{{0, 1}}, SetOf: []int32{0, 0}}}, Ops: [][]Op{
			{{Kind: Call}, {Kind: Send, Peer: 1}}, {{Kind: Call}, {Kind: Send, Peer: -1}}}}, 4, "", "rank 0 exchanges a message with rank 1 of its line"},
		{&Job{Ranks: 2, Groups: []Group{{Name: "a", Sets: [][]int32{{0, 1}}, SetOf: []int32{0, 0}}}, Ops: [][]Op{
			{{Kind: Call}, {Kind: Join}}, {{Kind: Call}}}}, 4, "", "rank 1 has 1 operations and rank 0 has 2"},
		{&Job{Ranks: 2, Groups: []Group{{Name: "a", Sets: [][]int32{{1, 0}}, SetOf: []int32{0, 0}}}, Ops: [][]Op{
			{{Kind: Call}}, {{Kind: Call}}}}, 4, "", "it has no such calls"},
	} {
		j, err := c.job.Scale(c.ranks, c.group)
		switch {
		case c.want == "" && (err != nil || j.Ranks != c.ranks):
			t.Errorf("%d ranks, group %q: %v, want success", c.ranks, c.group, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "; want ")):
			t.Errorf("%d ranks, group %q: got %v, want %s", c.ranks, c.group, err, c.want)
		}
	}

	// Durations repeat in order.
	j, err := change(make22(callSecond, compute), 2, func(ops []Op) { ops[1].Duration = 77 }).Scale(10, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []engine.Time
	for r := 0; r < 10; r += 2 {
		got = append(got, j.Ops[r][1].Duration)
	}
	if want := []engine.Time{2, 77, 2, 77, 2}; !slices.Equal(got, want) {
		t.Errorf("got durations %v, want %v", got, want)
	}
}
