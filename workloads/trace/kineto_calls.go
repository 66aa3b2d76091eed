package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// kinetoCollective returns the collective of a name, such as "_allgather_base" or
// "allreduce_coalesced". Without underscores, it begins with the collective's name without hyphens.
func kinetoCollective(name string) (Collective, bool) {
	for i, collective := range collectiveNames {
		if strings.HasPrefix(kinetoName(name), strings.ReplaceAll(collective, "-", "")) {
			return Collective(i), true
		}
	}
	return 0, false
}

// kinetoTypeBytes is the size of the element types of PyTorch.
var kinetoTypeBytes = map[string]int64{
	"byte": 1, "char": 1, "bool": 1, "qint8": 1, "quint8": 1, "float8_e5m2": 1, "float8_e4m3fn": 1,
	"float8_e5m2fnuz": 1, "float8_e4m3fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1,
	"short": 2, "half": 2, "bfloat16": 2, "uint16": 2,
	"int": 4, "float": 4, "qint32": 4, "uint32": 4, "complexhalf": 4,
	"long": 8, "double": 8, "uint64": 8, "complexfloat": 8, "complexdouble": 16,
}

// isMessage reports whether the call is a send or a receive.
func (c *kinetoCall) isMessage() bool {
	name := kinetoName(c.Collective)
	return name == "send" || name == "recv"
}

// bytes returns the size of a number of elements.
func (c *kinetoCall) bytes(what string, elements json.Number) (int64, error) {
	n, err := parseWhole(what, cmp.Or(string(elements), "0"), 0, MaxMessageBytes)
	if err != nil {
		return 0, c.located(err)
	}
	size, ok := kinetoTypeBytes[strings.ToLower(c.ElementType)]
	switch {
	case n == 0:
		return 0, nil
	case !ok:
		return 0, c.errorAt("an element type of PyTorch, such as BFloat16", "has the dtype %.20q", c.ElementType)
	case n*size > MaxMessageBytes:
		return 0, c.errorAt(fmt.Sprintf("at most %d bytes", int64(MaxMessageBytes)), "has %s %d of %s",
			what, n, c.ElementType)
	}
	return n * size, nil
}

// assignCalls finds the calls that kernels of NCCL make, and the time at which the host launched
// all work.
func (k *kinetoReader) assignCalls(r *kinetoRank) error {
	byID := map[int64]*kinetoCall{}
	for _, c := range r.records {
		if c.externalID != 0 {
			byID[c.externalID] = c
		}
	}
	slices.SortStableFunc(r.work, func(a, b kinetoWork) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	// Work without a launch in the trace was launched with the previous work of its stream, or
	// before the trace. A call may have a record, and otherwise starts when it is launched.
	previous := map[int64]int64{}
	for i := range r.work {
		w := &r.work[i]
		at, hasLaunch := r.launches[w.correlation]
		before, hasPrevious := previous[w.stream]
		switch {
		case hasLaunch:
			w.launch = at
		case w.isNCCL || len(r.launches) == 0:
		case hasPrevious:
			w.launch = before
		default:
			w.launch = math.MinInt64
		}
		previous[w.stream] = w.launch
	}
	hasLaunch := func(w *kinetoWork) bool { _, ok := r.launches[w.correlation]; return ok }

	// Calls with a record or a description of their own. Further kernels of a call belong to it.
	kernels := r.ncclKernels()
	hasKernel := map[*kinetoCall]bool{}
	var coalesced []*kinetoWork
	for _, w := range kernels {
		record := byID[w.externalID]
		switch {
		case record != nil && hasKernel[record]:
			w.calls = nil
		case record != nil:
			hasKernel[record] = true
			if !hasLaunch(w) {
				w.launch = record.time
			}
			if w.calls == nil {
				w.calls = []*kinetoCall{record}
			} else {
				w.calls[0].time = record.time
			}
		case w.calls != nil:
			w.calls[0].time = w.launch
		default:
			coalesced = append(coalesced, w)
		}
	}

	// A kernel of coalesced calls makes all calls since the previous such kernel.
	slices.SortStableFunc(r.records, func(a, b *kinetoCall) int { return cmp.Compare(a.time, b.time) })
	rest := slices.DeleteFunc(r.records, func(c *kinetoCall) bool { return hasKernel[c] })
	for _, w := range coalesced {
		n := 0
		for n < len(rest) && rest[n].time <= w.launch {
			n++
		}
		if n == 0 {
			return w.errorAt("a profile of CPU and CUDA activities, whose calls have record_param_comms",
				"is a kernel of NCCL without a description of its call")
		}
		w.calls, rest = rest[:n:n], rest[n:]
	}
	r.launches = nil
	for range rest {
		k.note("calls without a kernel, such as those of CPU groups, are left out")
	}
	return nil
}

// ncclKernels returns the kernels of NCCL in the order in which they were launched.
func (r *kinetoRank) ncclKernels() (list []*kinetoWork) {
	for i := range r.work {
		if r.work[i].isNCCL {
			list = append(list, &r.work[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *kinetoWork) int { return cmp.Compare(a.launch, b.launch) })
	return list
}

// readGroups creates the groups of all calls. file is named in errors about all groups.
func (k *kinetoReader) readGroups(file string) error {
	sets := map[string][][]int32{}
	messageGroups := map[string]int{}
	for rank := range k.Ranks {
		known := map[string][]int32{} // groups of the rank
		for i := range k.ranks[rank].work {
			for _, c := range k.ranks[rank].work[i].calls {
				if c.isMessage() {
					messageGroups[string(c.Group)] = 0
					continue
				}
				ranks, err := k.groupRanks(rank, c)
				if err != nil {
					return err
				}
				name := string(c.Group)
				if before, ok := known[name]; !ok {
					known[name] = ranks
				} else if !slices.Equal(before, ranks) {
					return c.errorAt("groups whose names differ", "calls group %.40q of other ranks than before", name)
				} else {
					continue
				}
				if !slices.ContainsFunc(sets[name], func(s []int32) bool { return slices.Equal(s, ranks) }) {
					sets[name] = append(sets[name], ranks)
				}
			}
		}
	}
	k.tags = map[string]int{}
	for i, name := range slices.Sorted(maps.Keys(messageGroups)) {
		k.tags[name] = i
	}
	k.index = map[string]int32{}
	return k.addGroups(sets, k.index, file)
}

// groupRanks returns the ranks of the group of a call. If the call has only some of them, they
// are in distributedInfo, or follow a first rank in equal distances.
func (k *kinetoReader) groupRanks(rank int, c *kinetoCall) ([]int32, error) {
	list := c.GroupRanks
	if list.isCut || len(list.values) == 0 {
		for _, g := range k.ranks[rank].section.info.Groups {
			if g.Name == c.Group && !g.Ranks.isCut && len(g.Ranks.values) > 0 {
				list = g.Ranks
			}
		}
	}

	size, err1 := kinetoInteger("Group size", c.GroupSize)
	first, err2 := kinetoInteger("Global rank start", c.FirstRank)
	stride, err3 := kinetoInteger("Global rank stride", c.RankStride)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, c.located(err)
	}
	if list.isCut || len(list.values) == 0 {
		isWhole := size == int64(k.Ranks) || size == 0 && !list.isCut
		switch {
		case isWhole:
			size, first, stride = int64(k.Ranks), 0, 1
		case stride <= 0 || c.FirstRank == "" || size <= 0 || size > int64(k.Ranks):
			return nil, c.errorAt("all ranks of the group, in the call or in distributedInfo.pg_config",
				"has only some of the %d ranks of its group %.40q", size, c.Group)
		}
		list = kinetoList{}
		for i := range size {
			list.values = append(list.values, first+i*stride)
		}
	}

	ranks := make([]int32, len(list.values))
	for i, v := range list.values {
		if v < 0 || v >= int64(k.Ranks) {
			return nil, c.errorAt(fmt.Sprintf("ranks from 0 to %d, or the traces of more ranks", k.Ranks-1),
				"calls group %.40q with rank %d", c.Group, v)
		}
		ranks[i] = int32(v)
	}
	if !slices.Contains(ranks, int32(rank)) {
		return nil, c.errorAt("a group of its rank", "calls group %.40q, which rank %d is not in", c.Group, rank)
	}
	return ranks, nil
}

// kinetoMember is the part of a rank in a call of a group.
type kinetoMember struct {
	call *kinetoCall
	kind Collective
	// bytes is Op.Bytes. It is -1 if the call is made of messages.
	bytes int64
}

// String describes the call.
func (m *kinetoMember) String() string {
	if m.bytes < 0 {
		return m.kind.String() + " with split sizes"
	}
	return fmt.Sprintf("%s of %d bytes", m.kind, m.bytes)
}

// checkCalls checks that all ranks of a group make the same calls in the same order.
func (k *kinetoReader) checkCalls() error {
	for g := range k.Groups {
		for _, set := range k.Groups[g].Sets {
			first := k.ranks[int(set[0])].calls[int32(g)]
			for _, rank := range set[1:] {
				if err := k.compareCalls(k.Groups[g].Name, int(set[0]), int(rank), first,
					k.ranks[int(rank)].calls[int32(g)]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// compareCalls compares the calls of two ranks of a group.
func (k *kinetoReader) compareCalls(group string, rankA, rankB int, a, b []kinetoMember) error {
	for i := range min(len(a), len(b)) {
		x, y := &a[i], &b[i]
		isSameSize := x.bytes == y.bytes || x.kind == AllToAll && x.bytes >= 0 && y.bytes >= 0
		if x.kind != y.kind || !isSameSize {
			return y.call.errorAt("traces of the same steps of one job, whose ranks make the same calls",
				"is call %d of group %.40q, %s, and on rank %d it is %s (%s, record %d)",
				i+1, group, y, rankA, x, x.call.file.Name, x.call.record)
		}
	}
	if len(a) == len(b) {
		return nil
	}
	longer, other := a, rankB
	if len(b) > len(a) {
		longer, other = b, rankA
	}
	return longer[min(len(a), len(b))].call.errorAt("traces that begin and end at the same step",
		"is call %d of group %.40q, and rank %d makes %d", min(len(a), len(b))+1, group, other,
		min(len(a), len(b)))
}
