// This file overlaps the collective calls of a pass with the compute of another pass of the same
// stage (Spec.OverlapPasses): DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, Sec. 3.2.1 and
// 3.4.2.

package training

import "sim/engine"

// The values of Spec.OverlapPasses other than "none".
const (
	OverlapPairs  = "pairs"
	OverlapHalves = "halves"
)

// passParts returns the number of parts of a micro-batch that make calls of their own.
func (s *Spec) passParts() int {
	if s.OverlapPasses == OverlapHalves {
		return 2
	}
	return 1
}

// CanPair reports whether forward passes of the schedule can overlap with the next backward pass
// without making stages wait for each other.
func (s *Spec) CanPair() bool {
	return s.Schedule == DualPipe || s.Schedule == Interleaved || s.Schedule == Eager
}

// isOverlapped reports whether pass number step of a stage computes while another pass makes calls.
func (b *builder) isOverlapped(z *stageBuilder, step int) bool {
	o := z.program[step]
	switch b.Spec.OverlapPasses {
	case OverlapPairs:
		return o.OverlapsNext || step > 0 && z.program[step-1].OverlapsNext
	case OverlapHalves:
		return o.Kind != WeightGradientPass
	}
	return false
}

// addHalves adds a pass whose calls are in the graph as two passes of half of the micro-batch.
func (b *builder) addHalves(v int, duration engine.Time, m TaskMeta) (passTasks, error) {
	p, err := b.addPassWithCalls(v, part(duration, 0, 2), m)
	if err != nil {
		return p, err
	}
	q, err := b.addPassWithCalls(v, part(duration, 1, 2), m)
	if err != nil {
		return q, err
	}
	b.Graph.AddDependency(p.first, q.first)
	b.weave(p.computes, q.computes)
	for i := range q.shards {
		q.shards[i].first = p.shards[i].first
	}
	q.first, q.last = p.first, b.join([]int32{p.last, q.last}, m)[0]
	q.computes = append(p.computes, q.computes...)
	return q, nil
}

// overlapPair is called after pass o of a stage has been added as p. It remembers a forward pass
// that overlaps with the next pass. If p is that next pass, it lets both end together, and the
// calls of each overlap with the compute of the other.
func (b *builder) overlapPair(z *stageBuilder, o Pass, p *passTasks, m TaskMeta) {
	hasCalls := b.options.Expand != nil
	switch {
	case o.OverlapsNext:
		f := *p
		if z.paired = &f; hasCalls {
			z.startAfter = p.first
		}
	case z.paired != nil:
		f := z.paired
		if z.paired = nil; hasCalls {
			b.weave(f.computes, p.computes)
			p.last = b.join([]int32{f.last, p.last}, m)[0]
			z.last = p.last
		} else {
			b.hideCalls(f.computes, p.computes)
			b.hideCalls(p.computes, f.computes)
		}
	}
}

// weave lets a GPU compute the tasks of two passes in turns, one at a time. Each list is in order.
// A longer list has several tasks per turn.
func (b *builder) weave(p, q []int32) {
	last, fromP := int32(-1), false
	i, k := 0, 0
	for i < len(p) || k < len(q) {
		takesP := k == len(q) || i < len(p) && (2*i+1)*len(q) <= (2*k+1)*len(p)
		var id int32
		if takesP {
			id = p[i]
			i++
		} else {
			id = q[k]
			k++
		}
		if last >= 0 && takesP != fromP {
			b.Graph.AddDependency(last, id)
		}
		last, fromP = id, takesP
	}
}

// hideCalls records that the compute tasks in hiding run during the calls of tasks, in equal shares
// of the time of tasks. Lengthen uses it.
func (b *builder) hideCalls(tasks, hiding []int32) {
	sum := func(ids []int32) (t engine.Time) {
		for _, id := range ids {
			t += b.Graph.Tasks[id].Duration
		}
		return t
	}
	own, other := sum(tasks), sum(hiding)
	if own == 0 {
		return
	}
	if b.hidden == nil {
		b.hidden = map[int32]engine.Time{}
	}
	for _, id := range tasks {
		share := float64(b.Graph.Tasks[id].Duration) / float64(own)
		b.hidden[id] = engine.Time(share * float64(other))
	}
}
