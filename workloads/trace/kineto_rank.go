package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"sim/engine"
)

// maxKinetoStreams bounds the streams of a GPU, with which the work of finding dependencies
// grows. Profiles have some tens.
const maxKinetoStreams = 128

// kinetoOrder finds the work for which other work of the rank waits. Work is identified by its
// index, in the order of its start.
type kinetoOrder struct {
	*kinetoRank
	streams map[int64]int // index of each stream
	after   [][]int32     // predecessors of work
	budget  int           // further dependencies that fit the memory; -1 if they did not fit
}

// addDependency adds a dependency of work on earlier work. It returns false if the times of the
// trace contradict it.
func (o *kinetoOrder) addDependency(before, to int32) bool {
	if before >= to || o.work[before].end > o.work[to].start || o.budget < 0 {
		return false
	}
	o.budget--
	o.after[to] = append(o.after[to], before)
	return true
}

// newKinetoOrder finds the dependencies of the work of a rank:
//
//   - Work waits for the previous work of its stream.
//   - If the trace has waits between streams (cuda_sync), work waits as they say.
//   - Otherwise the rules of PyTorch's process groups apply. A call waits for the work that was
//     launched before it. After the host has waited for a call, the work that it launches next
//     waits for the call.
//   - In a trace without any waits, work that follows a pause of its stream waits for the last
//     call that ended in the pause.
//   - Work that would wait for nothing waits for the work that ended last before it.
//
// A dependency holds only if its predecessor has ended when the work starts.
//
// newKinetoOrder fails if there are more dependencies than budget.
func newKinetoOrder(r *kinetoRank, budget int) (*kinetoOrder, error) {
	o := &kinetoOrder{kinetoRank: r, streams: map[int64]int{}, after: make([][]int32, len(r.work)),
		budget: budget}
	last := map[int64]int32{}
	for i := range r.work {
		w := &r.work[i]
		if _, ok := o.streams[w.stream]; !ok {
			if len(o.streams) == maxKinetoStreams {
				return nil, w.errorAt(fmt.Sprintf("at most %d streams of a GPU", maxKinetoStreams),
					"is on one stream more")
			}
			o.streams[w.stream] = len(o.streams)
		}
		if before, ok := last[w.stream]; ok {
			o.after[i] = append(o.after[i], before) // also if their times overlap
		}
		last[w.stream] = int32(i)
	}

	if len(r.syncs) > 0 {
		o.addSyncs()
	} else {
		o.addProcessGroupRules()
	}
	o.anchor()
	if o.budget < 0 {
		return nil, &Error{File: r.section.file.Name, Problem: "has too many dependencies between streams",
			Want: fmt.Sprintf("at most %d", maxDependencies())}
	}
	return o, nil
}

// addSyncs adds the dependencies of waits between streams.
func (o *kinetoOrder) addSyncs() {
	// The work of each stream in the order of launch.
	byStream := map[int64][]int32{}
	for i := range o.work {
		s := o.work[i].stream
		byStream[s] = append(byStream[s], int32(i))
	}
	for _, list := range byStream {
		slices.SortStableFunc(list, func(a, b int32) int {
			return cmp.Compare(o.work[a].correlation, o.work[b].correlation)
		})
	}
	// position returns the number of work of a list that was launched before correlation.
	position := func(list []int32, correlation int64) int {
		n, _ := slices.BinarySearchFunc(list, correlation, func(i int32, correlation int64) int {
			return cmp.Compare(o.work[i].correlation, correlation)
		})
		return n
	}
	for _, s := range o.syncs {
		to, from := byStream[s.stream], byStream[s.waitStream]
		next, before := position(to, s.correlation+1), position(from, s.waitCorrelation)
		if next < len(to) && before > 0 {
			o.addDependency(from[before-1], to[next])
		}
	}
}

// addProcessGroupRules adds the dependencies of the rules of PyTorch's process groups.
func (o *kinetoOrder) addProcessGroupRules() {
	launched := make([]int32, len(o.work)) // work in the order of launch
	computes := make([]bool, len(o.streams))
	var callEnds []int32 // calls, by end
	for i := range o.work {
		launched[i] = int32(i)
		if w := &o.work[i]; w.isNCCL {
			callEnds = append(callEnds, int32(i))
		} else {
			computes[o.streams[w.stream]] = true
		}
	}
	slices.SortStableFunc(launched, func(a, b int32) int { return cmp.Compare(o.work[a].launch, o.work[b].launch) })
	slices.SortStableFunc(callEnds, func(a, b int32) int { return cmp.Compare(o.work[a].end, o.work[b].end) })

	// lastCompute is the last work that was launched on a stream. waited is the last call of a
	// stream for which the work that is launched next waits. Both are -1 without such work.
	lastCompute := slices.Repeat([]int32{-1}, len(o.streams))
	waited := slices.Repeat([]int32{-1}, len(o.streams))
	waits := o.matchWaits(computes)
	for _, i := range launched {
		w := &o.work[i]
		for len(waits) > 0 && waits[0].time <= w.launch {
			s := o.streams[o.work[waits[0].work].stream]
			waited[s] = max(waited[s], waits[0].work)
			waits = waits[1:]
		}
		own := o.streams[w.stream]
		for s, before := range waited {
			if before >= 0 && s != own && o.addDependency(before, i) && !w.isNCCL {
				waited[s] = -1
			}
		}
		if !w.isNCCL {
			lastCompute[own] = i
			continue
		}
		for s, before := range lastCompute {
			if before >= 0 && s != own {
				o.addDependency(before, i)
			}
		}
	}
	if len(o.waits) > 0 {
		return
	}

	// Without waits, the last call that ends in a pause of the stream ends the pause.
	for i := range o.work {
		w := &o.work[i]
		n, _ := slices.BinarySearchFunc(callEnds, w.start+1, func(c int32, end int64) int {
			return cmp.Compare(o.work[c].end, end)
		})
		if n == 0 || w.isNCCL {
			continue
		}
		call := callEnds[n-1]
		if o.work[call].stream != w.stream && o.work[call].end > o.ready(i) {
			o.addDependency(call, int32(i))
		}
	}
}

// anchor adds a dependency to work without any: on the work that ended last before it.
func (o *kinetoOrder) anchor() {
	byEnd := make([]int32, len(o.work))
	for i := range byEnd {
		byEnd[i] = int32(i)
	}
	slices.SortStableFunc(byEnd, func(a, b int32) int { return cmp.Compare(o.work[a].end, o.work[b].end) })
	for i := range o.work {
		n, _ := slices.BinarySearchFunc(byEnd, o.work[i].start+1, func(w int32, end int64) int {
			return cmp.Compare(o.work[w].end, end)
		})
		if len(o.after[i]) == 0 && n > 0 {
			o.addDependency(byEnd[n-1], int32(i))
		}
	}
}

// ready returns the time at which all predecessors of work have ended. Without predecessors it is
// the start of the first work of the rank.
func (o *kinetoOrder) ready(i int) int64 {
	if len(o.after[i]) == 0 {
		return o.work[0].start
	}
	end := o.work[o.after[i][0]].end
	for _, a := range o.after[i][1:] {
		end = max(end, o.work[a].end)
	}
	return end
}

// kinetoWait is the time at which the host makes a call, or waits for it, and the work of the call.
type kinetoWait struct {
	time int64
	work int32
}

// matchWaits finds the calls for which the host waits. A wait names the group, and in newer
// traces the sequence number of the call. Without it, waits refer to the calls of a group in
// order. Calls on a stream that computes need no wait.
func (o *kinetoOrder) matchWaits(computes []bool) (waits []kinetoWait) {
	type key struct {
		group    chJSONName
		sequence json.Number
	}
	queues := map[key][]kinetoWait{}
	for i := range o.work {
		w := &o.work[i]
		if computes[o.streams[w.stream]] {
			continue
		}
		for _, c := range w.calls {
			sequences := []json.Number{""}
			if c.Sequence != "" {
				sequences = append(sequences, c.Sequence)
			}
			for _, s := range sequences {
				queues[key{c.Group, s}] = append(queues[key{c.Group, s}], kinetoWait{c.time, int32(i)})
			}
		}
	}
	for _, q := range queues {
		slices.SortStableFunc(q, func(a, b kinetoWait) int { return cmp.Compare(a.time, b.time) })
	}

	isWaited := make([]bool, len(o.work))
	slices.SortStableFunc(o.waits, func(a, b *kinetoCall) int { return cmp.Compare(a.time, b.time) })
	for _, w := range o.waits {
		at := key{w.Group, w.Sequence}
		if len(queues[at]) == 0 {
			at.sequence = ""
		}
		q := queues[at]
		for len(q) > 0 && isWaited[q[0].work] {
			q = q[1:]
		}
		if len(q) > 0 && q[0].time <= w.time {
			isWaited[q[0].work] = true
			waits = append(waits, kinetoWait{w.time, q[0].work})
			q = q[1:]
		}
		queues[at] = q
	}
	return waits
}

// makeOps creates the operations of a rank. A kernel computes from the end of its predecessors.
// This includes the time in which the GPU waits for the host. Before a call, this time is a
// computation of its own.
func (k *kinetoReader) makeOps(rank int) error {
	r := k.ranks[rank]
	if len(r.work) == 0 {
		return &Error{File: r.section.file.Name, Problem: fmt.Sprintf("rank %d has no work of a GPU", rank),
			Want: "a profile of CUDA activities"}
	}
	const maxNanoseconds = int64(maxComputeTime / engine.Nanosecond)
	for i := range r.work {
		if w := &r.work[i]; w.start-r.work[0].start > maxNanoseconds {
			return w.errorAt(fmt.Sprintf("a trace of at most %.0f s", maxComputeTime.Seconds()),
				"starts %d s after the first work", (w.start-r.work[0].start)/1e9)
		}
	}
	o, err := newKinetoOrder(r, k.dependencies)
	if err != nil {
		return err
	}
	k.dependencies = o.budget
	hasCalls := slices.ContainsFunc(r.work, func(w kinetoWork) bool { return w.isNCCL })
	if hasCalls && len(r.waits)+len(r.syncs) == 0 {
		k.note("ranks without waits between streams: work after a pause waits for the last call that ended in it")
	}

	b := &kinetoOps{kinetoReader: k, rank: rank}
	r.calls = map[int32][]kinetoMember{}
	done := make([]int32, len(r.work)) // the operation with which work ends
	for i := range r.work {
		w := &r.work[i]
		var after []int32
		for _, a := range o.after[i] {
			after = append(after, done[a])
		}
		slices.Sort(after)
		after = slices.Compact(after)
		gap := max(0, w.start-o.ready(i))
		k.hostGaps += gap
		switch {
		case !w.isNCCL:
			done[i] = b.add(Op{Name: w.name, Kind: Compute,
				Duration: engine.Time(gap+w.end-w.start) * engine.Nanosecond, After: after})
			continue
		case gap > 0:
			after = []int32{b.add(Op{Name: "launch of " + w.name, Kind: Compute,
				Duration: engine.Time(gap) * engine.Nanosecond, After: after})}
		}

		var ends []int32
		for _, c := range w.calls {
			end, err := b.addCall(c, after)
			if err != nil {
				return err
			}
			ends = append(ends, end)
		}
		if len(ends) == 1 {
			done[i] = ends[0]
			continue
		}
		if len(ends) == 0 { // a further kernel of a call
			ends = after
		}
		done[i] = b.add(Op{Name: w.name, After: ends})
	}
	k.Ops[rank] = b.ops
	r.work, r.records, r.waits, r.syncs = nil, nil, nil, nil
	return nil
}

// kinetoOps collects the operations of a rank.
type kinetoOps struct {
	*kinetoReader
	rank int
	ops  []Op
}

// add appends an operation and returns its index.
func (b *kinetoOps) add(o Op) int32 {
	b.ops = append(b.ops, o)
	return int32(len(b.ops) - 1)
}

// addCall adds the operations of a call and returns the one with which it ends.
func (b *kinetoOps) addCall(c *kinetoCall, after []int32) (int32, error) {
	in, err := c.bytes("In msg nelems", c.In)
	if err != nil {
		return 0, err
	}
	out, err := c.bytes("Out msg nelems", c.Out)
	if err != nil {
		return 0, err
	}
	if c.isMessage() {
		return b.addMessage(c, max(in, out), after)
	}

	kind, ok := kinetoCollective(c.Collective)
	if !ok {
		return 0, c.errorAt("a supported collective", "is the collective %.40q, which is not read", c.Collective)
	}
	group := b.index[string(c.Group)]
	set := b.Groups[group].Sets[b.Groups[group].SetOf[b.rank]]
	n := int64(len(set))
	o := Op{Name: c.Collective, Kind: Call, Collective: kind, Bytes: in, Group: group, After: after}
	switch kind {
	case AllGather: // the result
		o.Bytes = max(out, n*in)
	case ReduceScatter: // the input
		o.Bytes = max(in, n*out)
	case Barrier:
		o.Bytes = 0
	}
	if o.Bytes > MaxMessageBytes {
		return 0, c.errorAt(fmt.Sprintf("at most %d bytes", int64(MaxMessageBytes)), "has %d bytes", o.Bytes)
	}

	isSplit := kind == AllToAll && len(c.InSplit.values)+len(c.OutSplit.values) > 0
	if isSplit && (c.InSplit.isCut || c.OutSplit.isCut) {
		b.note("split sizes are cut, and each rank sends equal parts to all")
		isSplit = false
	}
	m := kinetoMember{call: c, kind: kind, bytes: o.Bytes}
	if isSplit {
		m.bytes = -1
	}
	r := b.ranks[b.rank]
	r.calls[group] = append(r.calls[group], m)
	if isSplit {
		return b.addSplitCall(c, group, set, in, out, after)
	}
	return b.add(o), nil
}

// addMessage adds a send or a receive.
func (b *kinetoOps) addMessage(c *kinetoCall, bytes int64, after []int32) (int32, error) {
	o := Op{Name: c.Collective, Kind: Send, Bytes: bytes, After: after, Tag: uint32(2 * b.tags[string(c.Group)])}
	what, text := "Dst Rank", c.Dst
	if kinetoName(c.Collective) == "recv" {
		o.Kind, what, text = Recv, "Src Rank", c.Src
	}
	if text == "" {
		return 0, c.errorAt("a trace whose messages name both ranks", "has no %s", what)
	}
	peer, err := parseWhole(what, string(text), 0, int64(b.Ranks-1))
	if err != nil {
		return 0, c.located(err)
	}
	o.Peer = int32(peer) - int32(b.rank)
	return b.add(o), nil
}

// addSplitCall adds an all-to-all with split sizes as messages: one to and one from each rank.
// in and out are the bytes that the rank sends and receives.
func (b *kinetoOps) addSplitCall(
	c *kinetoCall, group int32, set []int32, in, out int64, after []int32,
) (int32, error) {
	if b.operations += 2 * len(set); b.operations > MaxOperations {
		return 0, countOperations(c.file.Name, b.operations)
	}
	sent, err := splitBytes(c, "In split size", c.InSplit.values, in, len(set))
	if err != nil {
		return 0, err
	}
	got, err := splitBytes(c, "Out split size", c.OutSplit.values, out, len(set))
	if err != nil {
		return 0, err
	}
	o := Op{Name: c.Collective, Kind: Send, After: after, Tag: uint32(2*group + 1)}
	var ends []int32
	for i, peer := range set {
		if int(peer) == b.rank {
			continue
		}
		o.Peer = peer - int32(b.rank)
		o.Kind, o.Bytes = Send, sent[i]
		ends = append(ends, b.add(o))
		o.Kind, o.Bytes = Recv, got[i]
		ends = append(ends, b.add(o))
	}
	return b.add(Op{Name: c.Collective, After: ends}), nil
}

// splitBytes divides bytes in proportion to split sizes, or equally without these.
func splitBytes(c *kinetoCall, what string, split []int64, bytes int64, n int) ([]int64, error) {
	if len(split) == 0 {
		return slices.Repeat([]int64{bytes / int64(n)}, n), nil
	}
	total := int64(0)
	for _, s := range split {
		if s < 0 || s > MaxMessageBytes || total > MaxMessageBytes {
			return nil, c.errorAt("sizes from 0 on", "has %s %d", what, s)
		}
		total += s
	}
	if len(split) != n {
		return nil, c.errorAt("a size for each rank of the group", "has %d values of %s for %d ranks",
			len(split), what, n)
	}
	parts := make([]int64, n)
	for i, s := range split {
		if total > 0 { // bytes * s may exceed 64 bits
			high, low := bits.Mul64(uint64(bytes), uint64(s))
			part, _ := bits.Div64(high, low, uint64(total))
			parts[i] = int64(part)
		}
	}
	return parts, nil
}
