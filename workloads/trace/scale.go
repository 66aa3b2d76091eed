package trace

import (
	"fmt"
	"slices"
)

// growthDim is a dimension of parallelism whose number of ranks changes. Rank r has the coordinate
// r / stride % size in it. Ranks that differ only in this coordinate form a line.
type growthDim struct {
	stride, size int32
	newSize      int32
	group        string // a group whose sets are lines
}

// coordinate returns the coordinate of a rank.
func (d *growthDim) coordinate(rank int32) int32 { return rank / d.stride % d.size }

// first returns the first rank of the line of a rank.
func (d *growthDim) first(rank int32) int32 { return rank - d.stride*d.coordinate(rank) }

// renumber returns the number that the rank with coordinate x in the line of first has after
// scaling.
func (d *growthDim) renumber(first, x int32) int32 {
	return first%d.stride + d.stride*x + first/(d.stride*d.size)*d.stride*d.newSize
}

// String describes the dimension.
func (d *growthDim) String() string {
	return fmt.Sprintf("%q (%d ranks in steps of %d)", d.group, d.size, d.stride)
}

// Scale returns the job with another number of ranks: one dimension of parallelism has more or
// fewer of them, and each rank does the same. The bytes of all calls and all times are
// unchanged, so that work grows with the ranks: an all-reduce keeps its vector, and a rank of a
// reduce-scatter or all-gather gets a smaller or larger part of it.
//
// The dimension is the one of the given group, or if group is "", the only dimension for which
// the following holds, or the dimension "dp" of Job.Dims. A set of ranks that makes calls is a
// product of the dimension with others, or all its ranks have one coordinate in it. The ranks
// of a line have the same operations, except for names and durations: calls of the same set, or
// of sets of ranks that differ only in the coordinate, and messages to ranks with the
// same coordinate. The new ranks repeat the durations of the old ones in order.
func (j *Job) Scale(ranks int, group string) (*Job, error) {
	if ranks == j.Ranks {
		return j, nil
	}
	fail := func(want, format string, args ...any) (*Job, error) {
		return nil, invalid(want, "%d ranks cannot be scaled to %d: "+format,
			append([]any{j.Ranks, ranks}, args...)...)
	}
	dims := j.lines(group)
	switch {
	case j.Stage != nil:
		return fail("files with the operations of each rank", "the files describe a stage")
	case len(dims) == 0 && group != "":
		return fail("a group whose ranks are in equal steps", "group %.40q has no such ranks", group)
	case len(dims) == 0:
		return fail("a trace with collective calls of groups whose ranks are in equal steps",
			"it has no such calls")
	}

	// Find the dimensions along which the ranks do the same.
	var possible []growthDim
	var why error
	for _, d := range dims {
		if err := j.checkScale(&d); err == nil {
			possible = append(possible, d)
		} else if why == nil {
			why = fmt.Errorf("along %v, %w", &d, err)
		}
	}
	if d := j.namedDim("dp", possible); d >= 0 && group == "" {
		possible = possible[d : d+1]
	}
	switch {
	case len(possible) == 0:
		return fail("groups that are a product of dimensions, and ranks that do the same along one", "%v", why)
	case len(possible) > 1:
		names := ""
		for i := range possible {
			names += fmt.Sprintf(" or %v", &possible[i])
		}
		return fail("workload.growth_group, a group of the data-parallel dimension",
			"the dimension may be that of group %s", names[len(" or "):])
	}

	d := possible[0]
	others := j.Ranks / int(d.size)
	if ranks%others != 0 || ranks > MaxRanks {
		return fail(fmt.Sprintf("a multiple of %d up to %d", others, MaxRanks),
			"the other dimensions have %d", others)
	}
	d.newSize = int32(ranks / others)
	out, err := j.scale(&d, ranks)
	if err != nil {
		return nil, err
	}
	return out, out.check(fmt.Sprintf("the trace of %d ranks", ranks))
}

// lines returns the dimensions in which a set of the given group is a line. If group is "", it
// considers all sets that make calls.
func (j *Job) lines(group string) (dims []growthDim) {
	for g := range j.Groups {
		if group != "" && j.Groups[g].Name != group {
			continue
		}
		for s, set := range j.Groups[g].Sets {
			if len(set) < 2 || group == "" && !j.makesCalls(int32(g), int32(s)) {
				continue
			}
			d := growthDim{stride: set[1] - set[0], size: int32(len(set)), group: j.Groups[g].Name}
			isLine := d.stride > 0 && j.Ranks%int(d.stride*d.size) == 0
			for x, r := range set {
				isLine = isLine && d.coordinate(r) == int32(x) && d.first(r) == set[0]
			}
			isKnown := slices.ContainsFunc(dims, func(o growthDim) bool {
				return o.stride == d.stride && o.size == d.size
			})
			if isLine && !isKnown {
				dims = append(dims, d)
			}
		}
	}
	return dims
}

// makesCalls reports whether the first rank of set s of group g makes a call of it.
func (j *Job) makesCalls(g, s int32) bool {
	rank := j.Groups[g].Sets[s][0]
	return slices.ContainsFunc(j.Ops[rank], func(o Op) bool { return o.Kind == Call && o.Group == g })
}

// namedDim returns the position in dims of the dimension with a name in Job.Dims, or -1.
func (j *Job) namedDim(name string, dims []growthDim) int {
	stride := 1
	for _, d := range j.Dims {
		if d.Name == name {
			return slices.IndexFunc(dims, func(s growthDim) bool {
				return int(s.stride) == stride && int(s.size) == d.Size
			})
		}
		stride *= d.Size
	}
	return -1
}

// groupSet identifies a set of a group.
type groupSet struct{ group, set int32 }

// checkScale returns the reason why a dimension cannot be scaled.
func (j *Job) checkScale(d *growthDim) error {
	// shape checks a set and reports whether it contains whole lines.
	shapes := map[groupSet]bool{}
	shape := func(at groupSet) (hasLines bool, err error) {
		if hasLines, ok := shapes[at]; ok {
			return hasLines, nil
		}
		set := j.Groups[at.group].Sets[at.set]
		lengths := map[int32]int32{} // ranks of each line
		hasOneCoordinate := true
		for _, r := range set {
			lengths[d.first(r)]++
			hasOneCoordinate = hasOneCoordinate && d.coordinate(r) == d.coordinate(set[0])
		}
		hasLines = true
		for _, n := range lengths {
			hasLines = hasLines && n == d.size
		}
		if !slices.IsSorted(set) {
			err = fmt.Errorf("group %.40q lists its ranks in another order", j.Groups[at.group].Name)
		} else if !hasLines && !hasOneCoordinate {
			err = fmt.Errorf("group %.40q has some of the ranks of a line, such as %d",
				j.Groups[at.group].Name, set[0])
		}
		shapes[at] = hasLines
		return hasLines, err
	}

	// counterpart is the set of the ranks with a coordinate for each set of the first ranks.
	type key struct {
		coordinate int32
		set        groupSet
	}
	counterpart, origin := map[key]groupSet{}, map[key]groupSet{}
	for rank := range int32(j.Ranks) {
		first, x := d.first(rank), d.coordinate(rank)
		ops, firstOps := j.Ops[rank], j.Ops[first]
		if len(ops) != len(firstOps) {
			return fmt.Errorf("rank %d has %d operations and rank %d has %d", rank, len(ops), first, len(firstOps))
		}
		differs := func(i int) error {
			return fmt.Errorf("operation %d of rank %d (%.40q) differs from that of rank %d (%.40q)",
				i, rank, ops[i].Name, first, firstOps[i].Name)
		}
		for i := range ops {
			o, f := &ops[i], &firstOps[i]
			isSame := o.Kind == f.Kind && o.Collective == f.Collective && o.Bytes == f.Bytes && o.Tag == f.Tag &&
				o.Stream == f.Stream && o.SendOrder == f.SendOrder && slices.Equal(o.After, f.After)
			if !isSame {
				return differs(i)
			}
			switch {
			case o.Kind == Call:
				at := groupSet{o.Group, j.Groups[o.Group].SetOf[rank]}
				from := groupSet{f.Group, j.Groups[f.Group].SetOf[first]}
				hasLines, err := shape(from)
				if err != nil {
					return err
				}
				if hasLines && at != from {
					return differs(i)
				}
				if hasLines {
					continue
				}

				// The counterpart is the same for all calls, and its ranks differ only in the
				// coordinate.
				known, isKnown := counterpart[key{x, from}]
				source, hasSource := origin[key{x, at}]
				if isKnown && known != at || hasSource && source != from {
					return differs(i)
				}
				if !isKnown && !d.isShifted(j.Groups[at.group].Sets[at.set], j.Groups[from.group].Sets[from.set], x) {
					return differs(i)
				}
				counterpart[key{x, from}], origin[key{x, at}] = at, from

			case o.Kind != Send && o.Kind != Recv || o.Peer == AnySource && f.Peer == AnySource:
			case o.Peer == AnySource || f.Peer == AnySource:
				return differs(i)
			default:
				peer, firstPeer := rank+o.Peer, first+f.Peer
				if d.coordinate(peer) != x {
					return fmt.Errorf("rank %d exchanges a message with rank %d of its line", rank, peer)
				}
				if d.first(peer) != firstPeer {
					return differs(i)
				}
			}
		}
	}
	return nil
}

// isShifted reports whether a set has the ranks of another set, whose ranks have coordinate 0, with
// the coordinate x instead.
func (d *growthDim) isShifted(set, from []int32, x int32) bool {
	return slices.EqualFunc(set, from, func(a, b int32) bool { return a == b+d.stride*x })
}

// scale returns the job with another size of a dimension that checkScale accepts.
func (j *Job) scale(d *growthDim, ranks int) (*Job, error) {
	out := *j
	out.Ranks, out.Groups, out.Ops = ranks, nil, make([][]Op, ranks)
	out.Dims, out.Notes = slices.Clone(j.Dims), slices.Clone(j.Notes)
	if i := j.namedDim("dp", []growthDim{*d}); i >= 0 {
		i = slices.IndexFunc(j.Dims, func(n Dim) bool { return n.Name == "dp" })
		out.Dims[i].Size = int(d.newSize)
	}
	out.note(fmt.Sprintf("scaled from %d to %d ranks: %d instead of %d in steps of %d, as in group %.40q",
		j.Ranks, ranks, d.newSize, d.size, d.stride, d.group))

	// Scale the groups of the ranks with coordinate 0. The groups of other ranks are their
	// counterparts.
	newGroup := make([]int32, len(j.Groups))
	for g := range j.Groups {
		var sets [][]int32
		for s, set := range j.Groups[g].Sets {
			if d.coordinate(set[0]) == 0 && j.makesCalls(int32(g), int32(s)) {
				sets = append(sets, d.scaleSet(set)...)
			}
		}
		if sets == nil {
			continue
		}
		if len(out.Groups) >= maxGroupRanks/ranks {
			return nil, invalid(fmt.Sprintf("at most %d", maxGroupRanks/ranks), "%d groups or more of %d ranks",
				len(out.Groups)+1, ranks)
		}
		newGroup[g] = int32(len(out.Groups))
		newOne, err := NewGroup(j.Groups[g].Name, ranks, sets)
		if err != nil {
			return nil, err
		}
		out.Groups = append(out.Groups, newOne)
	}

	// Ranks with equal operations share them.
	programs := make([][]Op, j.Ranks)
	operations := 0
	for rank := range int32(j.Ranks) {
		first, x := d.first(rank), d.coordinate(rank)
		for ; x < d.newSize; x += d.size {
			if operations += len(j.Ops[rank]); operations > MaxOperations {
				return nil, countOperations(fmt.Sprintf("the trace of %d ranks", ranks), operations)
			}
			if programs[rank] == nil {
				programs[rank] = j.scaleOps(d, rank, newGroup)
			}
			out.Ops[d.renumber(first, x)] = programs[rank]
		}
	}
	return &out, nil
}

// scaleSet returns the sets of a set that contains whole lines, or has coordinate 0.
func (d *growthDim) scaleSet(set []int32) (sets [][]int32) {
	hasLines := slices.ContainsFunc(set, func(r int32) bool { return d.coordinate(r) != 0 }) || d.size == 1
	if !hasLines {
		sets = make([][]int32, d.newSize)
		for x := range sets {
			for _, r := range set {
				sets[x] = append(sets[x], d.renumber(r, int32(x)))
			}
		}
		return sets
	}
	var all []int32
	for _, r := range set {
		for x := int32(0); x < d.newSize && d.coordinate(r) == 0; x++ {
			all = append(all, d.renumber(r, x))
		}
	}
	slices.Sort(all)
	return [][]int32{all}
}

// scaleOps returns the operations of a rank after scaling. newGroup has the new numbers of the
// groups of ranks with coordinate 0.
func (j *Job) scaleOps(d *growthDim, rank int32, newGroup []int32) []Op {
	first := d.first(rank)
	ops := slices.Clone(j.Ops[rank])
	for i := range ops {
		switch o := &ops[i]; {
		case o.Kind == Call:
			o.Group = newGroup[j.Ops[first][i].Group]
		case (o.Kind == Send || o.Kind == Recv) && o.Peer != AnySource:
			peer := d.first(rank + o.Peer)
			o.Peer = d.renumber(peer, 0) - d.renumber(first, 0)
		}
	}
	return ops
}
