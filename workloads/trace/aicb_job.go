// This file creates the job of an AICB table (aicb.go): the groups of ranks that make
// collective calls together, and the program of each stage.
//
// tp, cp, dp and ep are the degrees of tensor, context, data and expert parallelism within
// a stage. The file names groups after them: the ranks of a tp_group share the layers of
// one replica, and so on. Errors are made by invalid(want, problem), with the accepted
// value first.

package trace

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
)

// setSizes derives tp, cp, dp and ep from the sizes of groups that rows state. A missing
// size follows from the others and from the number of ranks per stage.
func (a *aicbReader) setSizes(h *ReadOptions) error {
	// A missing size of tensor or data parallelism, which is 0, follows from the other one.
	// A file that calls a single group is a measurement of that group alone.
	n := a.stages[0].ranks // all stages have as many
	tp := a.sizes["tp_group"]
	dp := a.sizes["dp_group"]
	switch {
	case tp == 0 && dp == 0 && len(a.groupNames) == 1:
		tp, dp = 1, n
	case tp == 0 && dp == 0:
		tp, dp = 1, n
		if slices.Contains(a.groupNames, "tp_group") {
			return invalid("a comm_group_size of tp_group or dp_group",
				"no row says how large these groups are")
		}
	case tp == 0:
		tp = n / dp
	case dp == 0:
		dp = n / tp
	}

	// The rest of a stage is context parallelism.
	if tp*dp > n || n%(tp*dp) != 0 {
		return invalid(fmt.Sprintf("a multiple of %d", tp*dp),
			"stages of %d ranks, of tp_group %d and dp_group %d", n, tp, dp)
	}

	// Three groups determine the size of expert parallelism: an ep_group has ep ranks, an
	// ep_tp_group ep x tp ranks, and an ep_dp_group the dp / ep ranks with the same experts.
	// They must agree with each other and with workload.ep.
	ep := h.EP
	for _, derived := range []struct {
		group string
		ep    int
	}{
		{"ep_group", a.sizes["ep_group"]},
		{"ep_tp_group", a.sizes["ep_tp_group"] / tp},
		{"ep_dp_group", dp / max(1, a.sizes["ep_dp_group"])},
	} {
		if a.sizes[derived.group] == 0 {
			continue
		}
		if ep > 0 && ep != derived.ep {
			return invalid("one size of groups of experts",
				"%s says that %d ranks share experts, and others %d", derived.group, derived.ep, ep)
		}
		ep = derived.ep
	}

	callsExperts := slices.ContainsFunc(a.groupNames,
		func(name string) bool { return strings.HasPrefix(name, "ep_") })
	if ep == 0 && callsExperts {
		return invalid("workload.ep = N, how many ranks of a dp_group share experts",
			"no row says how large ep_group is")
	}

	ep = max(1, ep)
	if dp%ep != 0 {
		return invalid("an ep that divides dp_group",
			"dp_group of %d is not a multiple of %d ranks that share experts", dp, ep)
	}
	a.stageRanks, a.tp, a.cp, a.dp, a.ep = n, tp, n/(tp*dp), dp, ep
	return nil
}

// sets returns the sets of ranks of a group; each set makes collective calls of its own.
// Ranks of a stage are numbered in the order TP, CP, EP, DP with TP fastest, as in AICB and
// Megatron-LM.
func (a *aicbReader) sets(group string) (sets [][]int32) {
	all := a.stageRanks * len(a.stages)

	// Distances between the numbers of ranks: with the next TP position, in the next
	// replica, with the same experts, and in the next stage.
	const tpStride = 1
	replicaStride := a.tp * a.cp
	sameExpertsStride := replicaStride * a.ep
	stageStride := a.stageRanks

	switch group {
	case "all":
		return strideSets(all, all, tpStride)
	case "tp_group":
		return strideSets(all, a.tp, tpStride)
	case "dp_group":
		return strideSets(all, a.dp, replicaStride)
	case "ep_group":
		return strideSets(all, a.ep, replicaStride)
	case "ep_dp_group":
		return strideSets(all, a.dp/a.ep, sameExpertsStride)
	case "pp_group":
		return strideSets(all, len(a.stages), stageStride)
	case "embedding_group":
		// The first and the last stage share the weights of the embedding.
		for i := range a.stageRanks {
			sets = append(sets, []int32{int32(i), int32(all - a.stageRanks + i)})
		}
		return sets
	}

	// ep_tp_group: an expert group of the first TP position, with the other TP positions of
	// its ranks.
	for _, experts := range strideSets(all, a.ep, replicaStride) {
		if int(experts[0])%a.tp != 0 {
			continue
		}
		var set []int32
		for _, r := range experts {
			for t := range int32(a.tp) {
				set = append(set, r+t)
			}
		}
		sets = append(sets, set)
	}

	return sets
}

// strideSets divides n ranks into sets of the given size, whose members have a distance of
// stride. Each run of size x stride ranks holds stride sets. Example: 8 ranks in sets of 2
// with stride 2 are {0, 2}, {1, 3}, {4, 6} and {5, 7}.
func strideSets(n, size, stride int) (sets [][]int32) {
	for first := range n {
		if first/stride%size != 0 {
			continue // not the first rank of a set
		}
		set := make([]int32, size)
		for i := range set {
			set[i] = int32(first + i*stride)
		}
		sets = append(sets, set)
	}

	return sets
}

// job creates the job. The ranks of a stage share a program. The job has the groups
// called by rows.
func (a *aicbReader) job(h *ReadOptions) (*Job, error) {
	if err := a.setSizes(h); err != nil {
		return nil, err
	}

	// The dimensions in the order of rank numbers; dp is always named.
	n := a.stageRanks
	all := n * len(a.stages)
	j := &Job{Ranks: all, Ops: make([][]Op, all)}
	for _, d := range []Dim{{"tp", a.tp}, {"cp", a.cp}, {"dp", a.dp}, {"pp", len(a.stages)}} {
		if d.Size > 1 || d.Name == "dp" {
			j.Dims = append(j.Dims, d)
		}
	}

	// Create the called groups, with the sets of all stages.
	for _, name := range a.groupNames {
		// Groups across stages need a file with all stages.
		if (name == "pp_group" || name == "embedding_group") && len(a.stages) == 1 {
			return nil, invalid("a file with a block of rows for each stage",
				"%s is called, and the file holds one stage", name)
		}
		// Their sizes follow from the stages. Rows may state them, and must be right.
		actual, hasFixedSize := map[string]int{"pp_group": len(a.stages), "all": all}[name]
		if size := a.sizes[name]; hasFixedSize && size > 0 && size != actual {
			return nil, invalid(fmt.Sprint("that of ", len(a.stages), " stages of ", n, " ranks"),
				"%s of %d ranks", name, size)
		}

		g, err := NewGroup(strings.TrimSuffix(name, "_group"), all, a.sets(name))
		if err != nil {
			return nil, err
		}
		j.Groups = append(j.Groups, g)
	}

	// The ranks of a stage share one list of operations.
	for p := range a.stages {
		ops, err := a.program(j, p)
		if err != nil {
			return nil, err
		}
		for i := range n {
			j.Ops[p*n+i] = ops
		}
	}

	if a.isMeasured {
		j.note("times of collectives and messages were measured, and are not taken")
	}
	return j, nil
}

// program returns the operations of the ranks of a stage. Each waits for the previous
// one. The operations before the first epoch_end set up the job.
func (a *aicbReader) program(j *Job, stage int) ([]Op, error) {
	s := &a.stages[stage]
	rows := s.rows

	// Leave out the rows before the first iteration unless they are requested.
	if s.setup > 0 && s.setup < len(rows) && !a.setup {
		for _, r := range rows[:s.setup] {
			j.noteBytes("operations that set the job up, before its first iteration, are left out; workload.setup takes them",
				r.bytes)
		}
		rows = rows[s.setup:]
	}

	// Measurements are in milliseconds, predictions in nanoseconds.
	unit := engine.Nanosecond
	if a.isMeasured {
		unit = engine.Millisecond
	}

	ops := make([]Op, 0, len(rows))
	for _, r := range rows {
		o := r.op
		o.Bytes = r.bytes
		switch o.Kind {
		case Compute:
			if r.time < 0 {
				j.note("computations have no time, and take none")
				continue
			}

			// Round to ticks. Very long times would overflow.
			t := r.time * float64(unit)
			if t > float64(maxComputeTime) {
				return nil, invalid(fmt.Sprintf("%.0f s at most", maxComputeTime.Seconds()),
					"%.40q computes for %g s", o.Name, t/float64(engine.Second))
			}
			o.Duration = engine.Time(math.Round(t))

		case Send, Recv:
			if len(a.stages) == 1 {
				return nil, invalid("a file with a block of rows for each stage",
					"%.40q is a message to another stage, and the file holds one", o.Name)
			}
			if to := stage + r.peer; to < 0 || to >= len(a.stages) {
				continue // the first and last stage have no such peer
			}
			o.Peer = int32(r.peer * s.ranks) // the rank at the same position of the other stage

		default:
			if o.Bytes == 0 && o.Collective != Barrier {
				j.note("collectives of 0 bytes are left out")
				continue
			}
		}

		// Each operation waits for the previous one.
		if len(ops) > 0 {
			o.After = []int32{int32(len(ops) - 1)}
		}
		ops = append(ops, o)
	}

	return ops, nil
}
